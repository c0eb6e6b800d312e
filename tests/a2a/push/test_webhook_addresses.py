"""Webhooks under names that nobody knows when they are set."""

import socket
from contextlib import closing
from typing import Any

import pytest

from support.webhook_receiver import WebhookReceiver, deliver_all, push_stage, send_with_webhook

NAME = "hooks.example"


class Names:
    """What names lead to: NAME nowhere at first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.address = ""
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._found)

    def _found(self, host: Any, *given: Any, **options: Any) -> Any:
        if host != NAME:
            return self._real(host, *given, **options)
        if not self.address:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self._real(self.address, *given, **options)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


def test_who_is_known_later_misses_nothing(names: Names) -> None:
    with closing(WebhookReceiver()) as subscriber, push_stage("There.") as played:
        send_with_webhook(played, subscriber.url.replace("127.0.0.1", NAME))
        played.drain_queue()
        assert subscriber.bodies == []
        names.address = "127.0.0.1"
        deliver_all(played)
        assert subscriber.states == ["SUBMITTED", "WORKING", "COMPLETED"]


def test_who_is_never_known_is_given_up_and_harms_no_task(names: Names) -> None:
    with push_stage("There.") as played:
        task = send_with_webhook(played, f"https://{NAME}/hook")
        deliver_all(played)
        told = played.get(task["id"])
        assert told["status"]["state"] == "TASK_STATE_COMPLETED"
        assert told["metadata"]["agentfn"]["push"] == {task["id"]: {"delivered": 0, "failed": True}}
        assert names.address == ""


def test_who_turns_out_to_be_inside_is_never_connected_to(names: Names) -> None:
    with closing(WebhookReceiver()) as subscriber, push_stage("There.", fetch_loopback="false") as played:
        task = send_with_webhook(played, subscriber.url.replace("127.0.0.1", NAME))
        names.address = "127.0.0.1"
        deliver_all(played)
        assert subscriber.bodies == []
        assert played.get(task["id"])["metadata"]["agentfn"]["push"] == {task["id"]: {"delivered": 0, "failed": True}}
