"""Files of a message that are at an address: fetched before anything is stored, or refused with the part's number."""

from collections.abc import Iterator
from typing import Any

import pytest

from agentfn.testing import RpcError, ScriptedModel, Stage, calls
from conftest import StageMaker, status_text
from support.raw_http_server import RawHttpServer, http_response


@pytest.fixture
def server() -> Iterator[RawHttpServer]:
    with RawHttpServer(http_response(b"a,b", "Content-Type: text/csv")) as listener:
        yield listener


def put(play: StageMaker, *replies: Any, **settings: Any) -> Stage:
    return play(ScriptedModel(*replies), **{"fetch_loopback": True, **settings})


def refusal(stage: Stage, *parts: dict[str, Any]) -> RpcError:
    with pytest.raises(RpcError) as caught:
        stage.send("Count!", parts=[{"text": "Count!"}, *parts])
    assert stage.table_items() == []
    assert stage.receive_messages() == []
    assert stage.aws_calls["PutObject"] == 0
    return caught.value


def test_a_file_at_an_address_is_the_task_s_own_as_if_it_had_been_sent(play: StageMaker, server: RawHttpServer) -> None:
    stage = put(play, calls("count_bytes", file="table.csv"), "Three.")
    task = stage.send(parts=[{"text": "Count!"}, {"url": f"{server.url}/data/table.csv?token=secret"}])
    assert status_text(task) == "Three."
    (file,) = [part for part in task["history"][0]["parts"] if "url" in part]
    assert (file["filename"], file["mediaType"]) == ("table.csv", "text/csv")
    assert "secret" not in str(task["history"][0])
    assert server.connections == 1


def test_the_caller_s_name_and_kind_go_before_the_server_s(play: StageMaker, server: RawHttpServer) -> None:
    stage = put(play, "Fine.")
    task = stage.send(parts=[{"url": f"{server.url}/x", "filename": "../mine.txt", "mediaType": "text/plain"}])
    (file,) = task["history"][0]["parts"]
    assert (file["filename"], file["mediaType"]) == ("mine.txt", "text/plain")


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://10.0.0.1/", "http://user@127.0.0.1/", "http://127.1/", "HTTP://0/"]
)
def test_a_forbidden_address_names_its_part_and_leaves_nothing(play: StageMaker, url: str) -> None:
    error = refusal(put(play), {"url": "data:,fine"}, {"url": url})
    assert error.code == -32602
    assert error.message.startswith("part 3: the ")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "s3://bucket/key", "/etc/passwd", "gopher://127.0.0.1/", "x"])
def test_other_addresses_are_a_kind_that_is_not_supported(play: StageMaker, url: str) -> None:
    error = refusal(put(play), {"url": url})
    assert error.code == -32005
    assert error.message.startswith("part 2: only http(s) addresses, data: URIs and uploads are read")


def test_without_the_tests_permission_this_machine_is_not_reached(play: StageMaker, server: RawHttpServer) -> None:
    error = refusal(put(play, fetch_loopback=False), {"url": server.url})
    assert error.message == "part 2: the host 127.0.0.1 is unknown, or its address is not public"
    assert server.connections == 0


def test_a_file_that_is_too_large_is_read_no_further(play: StageMaker, server: RawHttpServer) -> None:
    error = refusal(put(play, max_file_size=2), {"url": server.url})
    assert (error.code, error.message) == (-32602, "part 2: the file has more than 2 bytes")


def test_files_that_are_too_large_together_are_refused_wherever_they_are(
    play: StageMaker, server: RawHttpServer
) -> None:
    limits = {"max_file_size": 4, "max_files_size": 8}
    fine = [{"url": server.url}, {"raw": "YWJj"}, {"url": "data:,ab"}]
    for late in ({"url": server.url}, {"raw": "YQ=="}, {"url": "data:,a"}):
        error = refusal(put(play, **limits), *fine, late)
        assert error.message.startswith("part 5: ")
        assert error.message.endswith("; all files of a message may have 8 together")
    put(play, "Fine.", **limits).send(parts=fine)


def test_too_many_addresses_are_refused_before_the_first_is_asked(play: StageMaker, server: RawHttpServer) -> None:
    error = refusal(put(play, max_files=2), *[{"url": server.url}] * 3)
    assert error.message == "the message has 3 files; 2 are allowed"
    assert server.connections == 0


def test_what_is_wrong_otherwise_has_nothing_fetched(play: StageMaker, server: RawHttpServer) -> None:
    with pytest.raises(RpcError):
        put(play).send(parts=[{"url": server.url}], metadata={"skill": "juggling"})
    assert server.connections == 0


def test_all_files_of_a_message_have_one_time(play: StageMaker, server: RawHttpServer) -> None:
    def slow(write: Any, over: Any) -> None:
        over.wait(0.4)
        write(http_response(b"x"))

    server.answer = slow
    error = refusal(put(play, fetch_seconds=1), *[{"url": server.url}] * 20)
    assert error.code == -32602
    assert "1 s" in error.message
    assert server.connections < 5, "each had a second of its own"


def test_a_server_that_refuses_is_told_with_its_status(play: StageMaker, server: RawHttpServer) -> None:
    server.answer = http_response(b"", status="403 Forbidden")
    assert refusal(put(play), {"url": server.url}).message == "part 2: the address answered with status 403"


def test_a_text_part_may_name_the_file_that_follows_it_and_is_no_text_then(
    play: StageMaker, server: RawHttpServer
) -> None:
    model = ScriptedModel("Fine.")
    stage = play(model, fetch_loopback=True)
    parts = [
        {"text": "Read!"},
        {"text": "__ORIGINAL_FILENAME__: ../Bericht 2026.csv "},
        {"url": f"{server.url}/8f3a"},
        {"text": "__ORIGINAL_FILENAME__:b.txt"},
        {"raw": "YQ==", "filename": "upload-1"},
        {"raw": "YQ==", "filename": "c.txt"},
        {"text": "__ORIGINAL_FILENAME__:who is nobody"},
    ]
    task = stage.send(parts=parts)
    said = task["history"][0]["parts"]
    assert [part["filename"] for part in said if "url" in part] == ["Bericht 2026.csv", "b.txt", "c.txt"]
    assert [part["text"] for part in said if "text" in part] == ["Read!", "__ORIGINAL_FILENAME__:who is nobody"]
    assert "ORIGINAL_FILENAME__:b.txt" not in str(model.requests)


def test_a_part_behind_a_naming_one_keeps_its_number(play: StageMaker) -> None:
    naming = {"text": "__ORIGINAL_FILENAME__:a.txt"}
    assert refusal(put(play), naming, {"url": "http://10.0.0.1/"}).message.startswith("part 3: ")
    assert refusal(put(play), naming, {}).message.startswith("part 3 has no content")
