"""Tasks from their first message to their end, in each dialect.

A turn of the model calls one tool: of several, the results are kept in the order in which they end, which is chance.
"""

from agentfn.testing import calls
from recorder.agents import clerk
from recorder.dialects import Dialect
from recorder.recording import Recording

HI = {"text": "Hi!"}
LATER = {"returnImmediately": True}


def life(recording: Recording, dialect: Dialect) -> None:
    """Messages that are waited for: answered, asked back, refused, failed; read, listed and canceled afterwards."""
    script = [
        calls("look_up", city="Paris", days=3),
        calls("explode"),
        "It rains in Paris.",
        calls("ask_user", question="Which seat?"),
        calls("book", seat=4),
        "Booked.",
        calls("reject_task", reason="Not mine."),
        calls("request_auth", scheme="oauth2", message="Log in, please."),
    ]
    with recording.stage(clerk(), *script):
        answered = dialect.send(
            recording, "new-1", HI, {"data": {"a": [1, 2.5, None, "ß"]}}, metadata={"skill": "weather"}
        )
        dialect.ask(recording, "get", answered["id"])
        for length in (0, 1, 10):
            dialect.ask(recording, "get", answered["id"], query={"historyLength": length})
        asking = dialect.send(recording, "new-2", HI, contextId="context-1")
        again = dialect.send(recording, "follow-1", {"text": "4"}, taskId=asking["id"], contextId="context-1")
        dialect.ask(recording, "get", again["id"])
        dialect.send(recording, "follow-2", {"text": "yes"}, taskId=asking["id"])
        dialect.send(recording, "new-3", HI, configuration={"historyLength": 0})
        waiting = dialect.send(recording, "new-4", HI, referenceTaskIds=[asking["id"]])
        dialect.send(recording, "new-5", HI)
        lists(recording, dialect)
        dialect.ask(recording, "cancel", waiting["id"])
        dialect.ask(recording, "cancel", answered["id"])
        dialect.send(recording, "follow-3", HI, taskId=answered["id"])
        dialect.ask(recording, "get", answered["id"], caller="bob")
        recording.work()


def lists(recording: Recording, dialect: Dialect) -> None:
    page = dialect.ask(recording, "list", query={"pageSize": 1, "historyLength": 0})
    if "nextPageToken" in page:
        dialect.ask(recording, "list", query={"pageSize": 1, "pageToken": page["nextPageToken"]})
    dialect.ask(
        recording, "list", query={"contextId": "context-1", "includeArtifacts": "true" if dialect.http else True}
    )
    dialect.ask(recording, "list", query={"status": "TASK_STATE_REJECTED", "historyLength": 1})
    dialect.ask(recording, "list", query={"pageSize": 1000})
    dialect.ask(recording, "list", query={"pageToken": "none"})


def queued(recording: Recording, dialect: Dialect) -> None:
    """Messages that are not waited for: the queue's messages do the work."""
    with recording.stage(clerk(), calls("draw"), "Drawn.", "Never."):
        task = dialect.send(recording, "new-1", {"text": "Draw!"}, configuration=LATER)
        dialect.send(recording, "follow-1", HI, taskId=task["id"])
        recording.work()
        dialect.ask(recording, "get", task["id"])
        canceled = dialect.send(recording, "new-2", HI, configuration=LATER)
        dialect.ask(recording, "cancel", canceled["id"])
        recording.work()
        recording.sweep()


def repeated(recording: Recording, dialect: Dialect) -> None:
    """A message that comes again is the same task; another message of its id is refused."""
    key = {"Idempotency-Key": "key-1"}
    with recording.stage(clerk(), "Hello.", "Hello again."):
        for _ in range(2):
            dialect.send(recording, "new-1", HI)
        dialect.send(recording, "new-1", {"text": "Something else."})
        dialect.send(recording, "new-1", HI, caller="bob")
    with recording.stage(clerk(), "Hello.", "Hello again."):
        dialect.send(recording, "new-1", HI, headers=key)
        dialect.send(recording, "new-2", HI, headers=key)
        dialect.send(recording, "new-3", {"text": "Something else."}, headers=key)
        dialect.send(recording, "new-4", HI, headers={"Idempotency-Key": "k" * 300})


def files(recording: Recording, dialect: Dialect) -> None:
    """Files in every way they can be sent, and files that a tool made."""
    sent = [
        {"raw": "YSxiCjEsMgo=", "filename": "a.csv", "mediaType": "text/csv"},
        {"raw": "AAEC", "filename": "../größe.bin"},
        {"url": "data:text/plain;base64,SGk=", "filename": "hi.txt", "mediaType": "text/plain"},
        {"url": "data:,Hi%20there"},
    ]
    script = [calls("tell", text="There are"), calls("count", file="a.csv"), calls("draw"), "Here.", "Second."]
    with recording.stage(clerk(), *script, max_file_size=1000, max_files_size=1500, max_files=5):
        task = dialect.send(recording, "new-1", {"text": "Count!"}, *sent)
        dialect.ask(recording, "get", task["id"])
        dialect.send(recording, "new-2", {"text": "And again."}, contextId=task.get("contextId", "none"))
        bad_files: list[list[dict[str, str]]] = [
            [{"raw": "QUFB" * 500, "filename": "large.bin"}],
            [{"raw": "QUFB" * 250, "filename": "large.bin"}] * 3,
            [{"raw": "QUFB", "filename": "small.bin"}] * 6,
            [{"raw": "", "filename": "empty.bin"}],
            [{"raw": "no base64!", "filename": "broken.bin"}],
            [{"url": "ftp://example.com/a.csv"}],
            [{"url": "http://127.0.0.1/a.csv"}],
            [{"url": "data:nothing"}],
            [{"url": "upload:none"}],
        ]
        for number, bad in enumerate(bad_files):
            dialect.send(recording, f"new-bad-{number}", HI, *bad)


def long(recording: Recording, dialect: Dialect) -> None:
    """A task that its first invocation has no time for, texts that are too long for the model, and a failing model."""
    script = [
        calls("recite", length=40_000),
        "Long.",
        RuntimeError("the model is broken"),
        calls("finish", text="End.", files=[]),
    ]
    with recording.stage(clerk(), *script, max_output_chars=1000, task_days=3):
        dialect.send(recording, "new-1", {"text": "Recite!"})
        dialect.send(recording, "new-2", {"text": "Fail!"})
        dialect.send(recording, "new-3", {"text": "End!"})
        recording.work()


TASK_STORIES = {"life": life, "queued": queued, "repeated": repeated, "files": files, "long": long}
