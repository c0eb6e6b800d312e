"""Push configurations and what webhooks get, and answers that come as streams."""

import base64
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from agentfn.testing import calls
from agentfn.testing import stream as pieces
from recorder.agents import clerk
from recorder.dialects import Dialect
from recorder.layout import readable
from recorder.recording import Recording

HI = {"text": "Hi!"}
LATER = {"returnImmediately": True}
# A key for nothing else. Ed25519 signs the same text with the same signature.
SIGNING_KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
-----END PRIVATE KEY-----
"""


class Webhook:
    """A server on loopback that keeps what it gets. `statuses` are what it answers, and then 200."""

    def __init__(self, *statuses: int) -> None:
        self.got: list[Any] = []
        left = list(statuses)
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                got.append({"headers": _headers(self.headers.items(), len(body.encode())), "body": readable(body)})
                self.send_response(left.pop(0) if left else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def configs(recording: Recording, dialect: Dialect) -> None:
    """Configurations that are set, read, listed and deleted, and those that are refused."""
    with recording.stage(clerk(), fetch_loopback=True), Webhook() as webhook:
        task = dialect.send(recording, "new-1", HI, configuration=LATER)
        login: Any = {"scheme": "Bearer", "credentials": "secret"}
        if dialect.old:
            login = {"schemes": ["Bearer"], "credentials": "secret"}
        for config in ({"id": "one", "token": "t0ken", "authentication": login}, {"id": "two"}, {}):
            body = dialect.subscriber(task["id"], webhook.url, **config)
            dialect.ask(recording, "push set", task["id"], body=body)
        for config_id in ("one", "none", ""):
            dialect.ask(recording, "push get", task["id"], config=config_id)
        dialect.ask(recording, "push list", task["id"])
        for config_id in ("one", "one", "x" * 200):
            dialect.ask(recording, "push delete", task["id"], config=config_id)
        dialect.ask(recording, "push list", task["id"])
        dialect.ask(recording, "get", task["id"])
        for url, more in (
            ("", {}),
            ("no url", {}),
            ("ftp://example.com/", {}),
            ("http://10.0.0.1/hook", {}),
            (webhook.url, {"id": "x" * 200}),
            (webhook.url, {"token": "two\nlines"}),
        ):
            dialect.ask(recording, "push set", task["id"], body=dialect.subscriber(task["id"], url, **more))


def notified(recording: Recording, dialect: Dialect) -> None:
    """What webhooks get of a task with files, signed; and one that fails twice."""
    settings = {"fetch_loopback": True, "push_signed": True, "signing_key": SIGNING_KEY}
    with recording.stage(clerk(), calls("draw"), "Drawn.", "Hello.", **settings), Webhook(500, 404) as webhook:
        wanted = {"url": webhook.url, "id": "one", "token": "t0ken"}
        name = "taskPushNotificationConfig"
        if dialect.old:
            name = "pushNotification" if dialect.http else "pushNotificationConfig"
        task = dialect.send(recording, "new-1", {"text": "Draw!"}, configuration={**LATER, name: wanted})
        recording.work()
        recording.delivered([_opened(notice) for notice in webhook.got])
        dialect.ask(recording, "get", task["id"])


def streams(recording: Recording, dialect: Dialect) -> None:
    """Streams of tasks that end, that wait and that go on."""
    script = [calls("draw"), pieces("It ", "rains."), calls("ask_user", question="Which?"), "That one.", "Hello."]
    with recording.stage(clerk(), *script, streaming=True, reserve_seconds=0.5):
        dialect.stream(recording, "stream", body=dialect.message("new-1", {"text": "Draw!"}))
        dialect.stream(recording, "stream", body=dialect.message("new-1", {"text": "Draw!"}))
        dialect.stream(recording, "stream", body=dialect.message("new-2", HI, contextId="context-2"))
        waiting = dialect.send(recording, "new-2", HI, contextId="context-2")
        dialect.stream(recording, "subscribe", waiting["id"])
        configuration = {"historyLength": 0}
        body = dialect.message("follow-1", {"text": "This."}, taskId=waiting["id"], configuration=configuration)
        dialect.stream(recording, "stream", body=body)
        dialect.stream(recording, "subscribe", waiting["id"])
        going_on = dialect.send(recording, "new-3", HI, configuration=LATER)
        dialect.stream(recording, "subscribe", going_on["id"], seconds=1)
        dialect.stream(recording, "stream", body=dialect.message("", HI))


def _headers(headers: Any, length: int) -> dict[str, str]:
    shown = {name: value for name, value in headers if name.lower() != "user-agent"}
    for name in shown:
        if name.lower() == "content-length":
            assert shown[name] == str(length)
            shown[name] = "<length>"
    return shown


def _opened(notice: Any) -> Any:
    """Tokens in the headers, decoded: their times and signatures vary."""
    headers = {
        name: _claims(value) if name.lower() == "x-a2a-notification-signature" else value
        for name, value in notice["headers"].items()
    }
    return {**notice, "headers": headers}


def _claims(token: str) -> Any:
    header, claims, _ = (part + "=" * (-len(part) % 4) for part in token.split("."))
    shown = {**json.loads(base64.urlsafe_b64decode(claims)), "request_body_sha256": "<digest>"}
    return {"header": readable(base64.urlsafe_b64decode(header).decode()), "claims": shown}


PUSH_STORIES = {"configs": configs, "notified": notified, "streams": streams}
