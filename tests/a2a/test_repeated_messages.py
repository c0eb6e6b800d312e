"""A message that comes again: known before its files are looked at."""

from typing import Any

import pytest

from agentfn.testing import ScriptedModel
from support.protocol_clients import CLIENTS, ProtocolClient
from support.raw_http_server import RawHttpServer, http_response


@pytest.mark.parametrize("speaker", CLIENTS, ids=str)
def test_a_message_that_comes_again_has_its_file_fetched_once(play: Any, speaker: ProtocolClient) -> None:
    with RawHttpServer(http_response(b"a,b\n1,2\n", "Content-Type: text/csv")) as place:
        stage = play(ScriptedModel("Read."), fetch_loopback="true")
        parts = [{"text": "Read!"}, {"url": f"{place.url}/a.csv"}]
        first = speaker.task(speaker.send(stage, *parts, messageId="m"))
        assert place.connections == 1
        place.answer = http_response(b"", status="404 Not Found")
        again = speaker.task(speaker.send(stage, *parts, messageId="m"))
        assert again["id"] == first["id"]
        other = speaker.send(stage, {"text": "Else!"}, parts[1], messageId="m")
        assert other.error == "INVALID_PARAMS"
        assert "used before" in other.message
        assert place.connections == 1
        assert speaker.send(stage, *parts, messageId="n").error == "INVALID_PARAMS"
        assert place.connections == 2


def test_a_key_tells_it_too_whatever_its_message_id(play: Any) -> None:
    speaker = CLIENTS[0]
    with RawHttpServer(http_response(b"a,b\n1,2\n", "Content-Type: text/csv")) as place:
        stage = play(ScriptedModel("Read."), fetch_loopback="true")
        part, key = {"url": f"{place.url}/a.csv"}, {"Idempotency-Key": "k"}
        tasks = [speaker.task(speaker.send(stage, part, headers=key))["id"] for _ in range(2)]
        assert tasks[0] == tasks[1]
        assert place.connections == 1


def test_a_message_without_addresses_costs_no_look(play: Any) -> None:
    stage = play(ScriptedModel("Read.", "Read."))
    CLIENTS[0].send(stage, {"text": "Hi!"})
    reads = stage.read_count
    stage.aws_calls.clear()
    CLIENTS[0].send(stage, {"url": "data:text/csv,a"})
    assert stage.read_count == reads
