"""`agentfn send`."""

import re
from pathlib import Path

from agentfn.local.local_agent import LocalAgent
from cli.conftest import Typed
from cli.stub_agent import StubAgent, make_task


def test_a_question_gets_its_answer_and_its_files(typed: Typed, local: LocalAgent, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")

    code, said, _ = typed(
        "send", local.url, "draw chart.svg", "--file", "table.csv", "--token", local.token, "--output", "came"
    )

    assert code == 0
    assert said.startswith(f"clerk at {local.url}\n")
    assert "Done: drawn" in said
    assert re.search(r"chart\.svg +image/svg\+xml +6 bytes", said)
    assert re.search(r"notes\.txt +text/plain +8 bytes", said)
    assert (tmp_path / "came" / "chart.svg").read_text() == "<svg/>"
    assert {path.name for path in (tmp_path / "came").iterdir()} == {"chart.svg", "notes.txt"}


def test_states_and_progress_are_told_as_they_come(typed: Typed, other: StubAgent) -> None:
    other.answers += [
        {"task": make_task("SUBMITTED")},
        make_task("SUBMITTED"),
        make_task("WORKING"),
        make_task("WORKING", text="reading\nthe table"),
        make_task("WORKING", text="reading\nthe table"),
        make_task("WORKING", text="drawing"),
        make_task("COMPLETED", text="There."),
    ]

    code, said, _ = typed("send", other.url, "go")

    told = [line.split(" s  ")[1] for line in said.splitlines() if re.match(r" +\d+\.\d s  ", line)]
    assert [" ".join(line.split()) for line in told] == [
        "submitted",
        "working",
        "working reading the table",
        "working drawing",
        "completed",
    ]
    assert said.endswith("\nThere.\n")
    assert code == 0


def test_an_agent_that_asks_is_answered_with_its_task(typed: Typed, local: LocalAgent) -> None:
    code, said, _ = typed("send", local.url, "ask", "--token", local.token)

    assert code == 3
    assert "The agent asks:\nWhich year?" in said
    task_id = re.search(r'agentfn send \S+ "your answer" --task (\S+)', said)
    assert task_id is not None

    code, said, _ = typed("send", local.url, "1999", "--task", task_id[1], "--token", local.token)
    assert code == 0
    assert "Good day. 1999" in said or "Done:" in said

    code, said, _ = typed("send", local.url, "--task", task_id[1], "--token", local.token)  # only looks
    assert code == 0


def test_a_task_that_did_not_complete_says_why(typed: Typed, local: LocalAgent) -> None:
    code, said, _ = typed("send", local.url, "refuse", "--token", local.token)
    assert (code, "The task ended as rejected: That is not a clerk's work." in said) == (1, True)

    code, said, _ = typed("send", local.url, "break", "--token", local.token)
    assert (code, "The task ended as failed: The agent failed" in said) == (1, True)


def test_a_look_that_goes_wrong_is_taken_again(typed: Typed, other: StubAgent) -> None:
    other.answers += [{"task": make_task("WORKING")}, 503, 429, make_task("COMPLETED", text="There.")]

    assert typed("send", other.url, "go")[0] == 0


def test_looks_that_go_on_going_wrong_end_it(typed: Typed, other: StubAgent) -> None:
    other.answers += [{"task": make_task("WORKING")}, *[503] * 6]

    code, _, complaint = typed("send", other.url, "go")

    assert code == 1
    assert complaint == "agentfn: the agent answered HTTP 503: busy\n"


def test_an_agent_may_answer_without_a_task(typed: Typed, other: StubAgent, tmp_path: Path) -> None:
    parts = [{"text": "Hello."}, {"raw": "aGk=", "filename": "hi.txt"}, {"data": {"a": 1}}]
    other.answers.append({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": parts}})

    code, said, _ = typed("send", other.url, "go", "--output", "came")

    assert code == 0
    assert "\nHello.\n" in said
    assert (tmp_path / "came" / "hi.txt").read_text() == "hi"
    assert (tmp_path / "came" / "answer").read_text().startswith("{")


def test_what_an_agent_says_cannot_steer_the_terminal(typed: Typed, other: StubAgent) -> None:
    other.answers.append({"task": make_task("COMPLETED", text="\x1b[2Jgone\u202e")})

    assert typed("send", other.url, "go")[1].endswith("\n[2Jgone\n")


def test_no_artifact_lands_outside_the_folder(typed: Typed, other: StubAgent, tmp_path: Path) -> None:
    (tmp_path / "came").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "came" / "link.txt").symlink_to(tmp_path / "precious")
    names = ["../../up.txt", "/etc/rooted.txt", "a\\b.txt", "..", "C:drive.txt", "link.txt", "same.txt", "Same.txt"]
    artifacts = [{"artifactId": "a", "parts": [{"text": "theirs", "filename": name}]} for name in names]
    other.answers.append({"task": make_task("COMPLETED", *artifacts)})

    code, _, _ = typed("send", other.url, "go", "--output", "came")

    assert code == 0
    came = {path.name for path in (tmp_path / "came").iterdir()}
    assert came == {
        "up.txt", "rooted.txt", "b.txt", "artifact", "C_drive.txt", "link.txt", "same.txt", "Same (2).txt"
    }  # fmt: skip
    assert (tmp_path / "precious").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"came", "precious"}


def test_the_token_goes_to_the_agent_and_not_to_where_its_files_are(typed: Typed, other: StubAgent) -> None:
    other.files["/file"] = b"content"
    linked = {"artifactId": "a", "name": "f.txt", "parts": [{"url": f"{other.url}/file"}]}
    other.answers.append({"task": make_task("COMPLETED", linked)})

    assert typed("send", other.url, "go", "--token", "secret-0123456789")[0] == 0
    assert dict(other.requests) == {
        "/.well-known/agent-card.json": "Bearer secret-0123456789",
        "/": "Bearer secret-0123456789",
        "/file": "",
    }


def test_a_file_that_cannot_be_had_is_named_and_the_others_come(typed: Typed, other: StubAgent, tmp_path: Path) -> None:
    other.files["/here"] = b"content"
    links = {"gone.txt": f"{other.url}/gone", "local.txt": "file:///etc/passwd", "here.txt": f"{other.url}/here"}
    artifacts = [{"artifactId": name, "name": name, "parts": [{"url": link}]} for name, link in links.items()]
    other.answers.append({"task": make_task("COMPLETED", *artifacts)})

    code, said, _ = typed("send", other.url, "go", "--output", "came")

    assert code == 1
    assert re.search(r"gone\.txt +- +not downloaded: its link answered HTTP 404", said)
    assert re.search(r"local\.txt +- +not downloaded: its link is not http", said)
    assert [path.name for path in (tmp_path / "came").iterdir()] == ["here.txt"]
