"""An agent on a laptop, over HTTP."""

import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentfn import ConfigurationError
from agentfn.local.local_agent import LocalAgent
from conftest import status_text, task_state
from local.conftest import SCRIPTED
from support.agent_folder import write_agent_folder

ENDS = ("completed", "failed", "canceled", "rejected")


def ended(task: dict[str, Any]) -> bool:
    return task_state(task) in ENDS


def test_a_blocking_send_is_answered_with_the_finished_task(caller: Any) -> None:
    task = caller.send("hello", wait=True)

    assert task_state(task) == "completed"
    assert status_text(task) == "Good day. hello"


def test_a_non_blocking_send_is_worked_on_by_the_queue(caller: Any) -> None:
    task = caller.send("hello", wait=False)
    assert task_state(task) == "submitted"

    assert status_text(caller.watch(task["id"], ended)) == "Good day. hello"


def test_polls_are_answered_and_tell_progress_while_a_long_run_goes_on(caller: Any) -> None:
    gate = sys.modules["app"].GATE
    gate.clear()
    task = caller.send("wait", wait=False)

    under_way = caller.watch(task["id"], lambda task: "message" in task["status"])
    assert task_state(under_way) == "working"
    assert status_text(under_way) == "at the gate"
    assert caller.send("hello", wait=True)["status"]["state"] == "TASK_STATE_COMPLETED"

    gate.set()
    assert status_text(caller.watch(task["id"], ended)) == "Done: open"


def test_two_runs_go_on_at_once(caller: Any) -> None:
    one, other = caller.send("meet", wait=False), caller.send("meet", wait=False)

    assert status_text(caller.watch(one["id"], ended)) == "Done: met"
    assert status_text(caller.watch(other["id"], ended)) == "Done: met"


def test_a_task_is_cancelled_while_its_run_goes_on(caller: Any) -> None:
    gate = sys.modules["app"].GATE
    gate.clear()
    task = caller.send("wait", wait=False)
    caller.watch(task["id"], lambda task: task_state(task) == "working")

    caller.rpc("CancelTask", {"id": task["id"]})
    gate.set()

    assert task_state(caller.get(task["id"])) == "canceled"


def test_artifacts_are_downloaded_through_their_links_with_name_and_type(caller: Any) -> None:
    task = caller.send("draw räport.svg", wait=True)
    links = {artifact["name"]: artifact["parts"][0]["url"] for artifact in task["artifacts"]}
    assert links.keys() == {"räport.svg", "notes.txt"}

    with httpx.Client(timeout=120) as stranger:
        chart, notes = stranger.get(links["räport.svg"]), stranger.get(links["notes.txt"])

    assert links["räport.svg"].startswith("http://127.0.0.1:")
    assert chart.content == b"<svg/>"
    assert chart.headers["Content-Type"] == "image/svg+xml"
    assert (
        chart.headers["Content-Disposition"] == "attachment; filename=\"raport.svg\"; filename*=UTF-8''r%C3%A4port.svg"
    )
    assert notes.text == "one line"
    assert notes.headers["Content-Disposition"].startswith('inline; filename="notes.txt"')


def test_a_caller_without_the_token_is_turned_away_but_sees_the_card(local: LocalAgent) -> None:
    with httpx.Client(base_url=local.url, timeout=120) as stranger:
        assert stranger.post("/", json={}).status_code == 401
        assert stranger.post("/", json={}, headers={"Authorization": "Bearer guessed"}).status_code == 401
        card = stranger.get("/.well-known/agent-card.json").raise_for_status().json()

    assert {interface["url"] for interface in card["supportedInterfaces"]} == {local.url}


def test_a_body_that_api_gateway_would_not_take_is_refused(caller: Any, local: LocalAgent) -> None:
    answer = caller.http.post(local.url, content=b" " * (10 * 1024 * 1024 + 1))

    assert answer.status_code == 413
    assert answer.json() == {"message": "Request Too Long"}


def test_a_body_that_is_no_text_is_answered_in_the_protocol(caller: Any, local: LocalAgent) -> None:
    answer = caller.http.post(local.url, content=b"\xff\xfe", headers={"Content-Type": "application/json"})

    assert answer.json()["error"]["code"] == -32700


def test_a_port_that_is_taken_is_named(local: LocalAgent, tmp_path: Path) -> None:
    port = int(local.url.rpartition(":")[2])

    with pytest.raises(ConfigurationError, match=f"port {port} cannot be used"):
        LocalAgent(write_agent_folder(tmp_path / "clerk"), environment=SCRIPTED, port=port).__enter__()


def test_a_second_agent_in_the_process_is_refused_and_does_the_first_no_harm(caller: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="another local agent"):
        LocalAgent(write_agent_folder(tmp_path / "clerk"), environment=SCRIPTED).__enter__()

    assert task_state(caller.send("hello", wait=True)) == "completed"
