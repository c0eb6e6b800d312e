"""What is left of a local agent when it stops: nothing."""

import os
import sys
import threading
from pathlib import Path

import boto3
import httpx
import pytest

from agentfn import ConfigurationError
from agentfn.aws_clients import aws_client
from agentfn.local.local_agent import LocalAgent
from local.conftest import SCRIPTED, Caller
from support.agent_folder import write_agent_folder


def own_threads() -> set[str]:
    """Not those that only wait for a connection of somebody else to end."""
    return {thread.name for thread in threading.enumerate()}


def test_nothing_is_left_of_an_agent_that_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    environment, path, threads, session = dict(os.environ), list(sys.path), own_threads(), boto3.DEFAULT_SESSION

    with (
        LocalAgent(write_agent_folder(tmp_path / "clerk"), environment=SCRIPTED) as local,
        httpx.Client(timeout=120) as http,
    ):
        assert dict(os.environ) == environment
        Caller(local, http).send("draw a.svg", wait=True)

    assert own_threads() == threads
    assert dict(os.environ) == environment
    assert sys.path == path
    assert boto3.DEFAULT_SESSION is session
    assert not {"app", "manners"} & sys.modules.keys()
    assert aws_client.cache_info().currsize == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(local.url)


def test_a_run_under_way_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with (
        LocalAgent(write_agent_folder(tmp_path / "clerk"), environment=SCRIPTED) as local,
        httpx.Client(timeout=120) as http,
    ):
        caller = Caller(local, http)
        gate = sys.modules["app"].GATE
        task = caller.send("wait", wait=False)
        caller.watch(task["id"], lambda task: task["status"]["state"] == "TASK_STATE_WORKING")

    left = {name for name in own_threads() if name.startswith(("environment", "queue", "front"))}
    gate.set()  # the tool's own thread cannot be stopped; it ends by itself
    assert not left


def test_agents_of_one_process_do_not_see_each_others_modules_or_tasks(tmp_path: Path) -> None:
    first, second = write_agent_folder(tmp_path / "first"), write_agent_folder(tmp_path / "second")
    (second / "manners.py").write_text('GREETING = "Hi."\n')

    said = []
    for folder in (first, second):
        with LocalAgent(folder, environment=SCRIPTED) as local, httpx.Client(timeout=120) as http:
            caller = Caller(local, http)
            said.append(caller.send("x", wait=True)["status"]["message"]["parts"][0]["text"])
            assert len(caller.rpc("ListTasks", {})["result"]["tasks"]) == 1

    assert said == ["Good day. x", "Hi. x"]


def test_an_agent_that_does_not_start_leaves_nothing_either(tmp_path: Path) -> None:
    threads, path = own_threads(), list(sys.path)

    with pytest.raises(ConfigurationError, match="AGENT_MODEL"), LocalAgent(write_agent_folder(tmp_path / "clerk")):
        pass

    assert own_threads() == threads
    assert sys.path == path
    assert aws_client.cache_info().currsize == 0
