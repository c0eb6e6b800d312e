"""The agent's tools as an MCP server, through the real doors."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from agentfn import Agent, Context, File, InputFile, Output, Toolkit, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, http_event, rest_event
from agentfn.testing.stage import auth_headers
from agentfn.tools import TaskSuspended
from conftest import SideEffects
from support.echo_executor import EchoExecutor
from support.raw_http_server import RawHttpServer, Write, http_response

pytestmark = pytest.mark.slow

Answer = dict[str, Any]

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
SCHEMA = {
    "type": "object",
    "properties": {
        "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "unit": {"$ref": "#/$defs/unit"},
        "note": {"type": ["string", "null"], "default": None},
    },
    "required": ["tables"],
    "additionalProperties": False,
    "$defs": {"unit": {"enum": ["g", "kg"], "title": "Unit"}},
}


@tool(schema=SCHEMA, files=["tables"], idempotent=True)
def join(tables: list[str], unit: str = "g", note: str | None = None) -> str:
    """Joins tables."""
    return "+".join(Path(table).read_text() for table in tables) + unit


@tool(idempotent=True)
def draw(context: Context, title: str = "chart.svg") -> Output:
    """Draws a chart."""
    page = context.folder / "page.html"
    page.write_text("<p>")
    return Output("drawn", files=[File(title, b"<svg/>", "image/svg+xml"), File("page.html", page)])


@tool(idempotent=True)
def hide(context: Context) -> str:
    """Keeps a file for itself."""
    context.workspace.save_file(File("secret.txt", b"for the model"), hidden=True)
    return "hidden"


@tool(idempotent=True)
def point() -> dict[str, str]:
    """Tells where a film is."""
    return {"download_url": "https://films.example.com/a.mp4", "media_type": "video/mp4"}


@tool(idempotent=True, timeout_seconds=1)
def sleep() -> str:
    """Sleeps, and cannot be woken."""
    time.sleep(20)
    return "awake"


@tool(idempotent=True)
async def doze() -> str:
    """Sleeps for a long time."""
    await asyncio.sleep(60)
    return "awake"


@tool(idempotent=True)
async def think(context: Context) -> str:
    """Thinks in a loop of its own."""
    async with asyncio.TaskGroup() as group:
        thought = group.create_task(context.run_nested("thought", "Think!"))
    return thought.result().text


@tool(idempotent=True)
def wait() -> str:
    """Waits for another run."""
    raise TaskSuspended


@tool(idempotent=True)
def explode() -> str:
    """Fails."""
    raise RuntimeError("the fuse was short")


@tool(idempotent=True)
def say(text: str) -> str:
    """Says what it is told."""
    return text


@pytest.fixture
def clerk(ledger: SideEffects) -> Agent:
    """Weighs things, books seats, counts, and writes down what it did."""

    @tool(idempotent=True)
    def weigh(item: str, precise: bool = False) -> dict[str, Any]:
        """Weighs an item."""
        ledger.record(f"weigh {item}")
        return {"item": item, "grams": 1.5 if precise else 2, "note": None}

    @tool
    async def book(seat: int) -> str:
        """Books a seat."""
        ledger.record(f"book {seat}")
        return f"Seat {seat} is booked."

    @tool(requires_approval=True)
    def pay(amount: float) -> str:
        """Pays."""
        ledger.record(f"pay {amount}")
        return "paid"

    @tool(idempotent=True)
    def count(file: InputFile) -> Output:
        """Counts the bytes of a file."""
        ledger.record(f"count {file.name}")
        return Output(f"{file.name} has", data={"bytes": len(file.read_bytes())})

    return Agent(
        name="clerk",
        version="1.2.3",
        description="A clerk for tests.",
        instructions="Secret words for the model.",
        tools=[
            Toolkit([weigh, join], instructions="Weigh first."),
            Toolkit([pay], instructions="Paying is for grown-ups."),
            *(book, count, draw, hide, point, sleep, doze, think, wait, explode, say),
        ],
    )


@pytest.fixture
def play(clerk: Agent) -> Iterator[Any]:
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Stage(clerk, ScriptedModel(), **{"mcp": True, **settings}))


@pytest.fixture
def stage(play: Any) -> Stage:
    return play()  # type: ignore[no-any-return]


def post(stage: Stage, body: Any, *, caller: str | None = "alice", path: str = "/mcp", **headers: str) -> Answer:
    """The response to a request. Headers are named with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str) else json.dumps(body)
    return stage.request("POST", path, caller=caller, body=text, headers={**JSON, **named})


def request_of(method: str, params: Answer | None, version: str) -> tuple[Answer, dict[str, str]]:
    """Since the version of 2026 each request says for itself what older ones said once, in a handshake."""
    headers = {"MCP-Protocol-Version": version}
    if version == MODERN:
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**(params or {}), "_meta": meta}
        headers |= {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
    return {"jsonrpc": "2.0", "id": 7, "method": method, **({"params": params} if params else {})}, headers


def ask(stage: Stage, method: str, params: Answer | None = None, *, version: str = HANDSHAKE, **rest: Any) -> Answer:
    """The JSON-RPC answer to a request, that came as JSON with 200."""
    body, headers = request_of(method, params, version)
    response = post(stage, body, **rest, **{name.replace("-", "_"): value for name, value in headers.items()})
    assert response["headers"]["content-type"] == "application/json"
    assert "mcp-session-id" not in response["headers"]
    told: Answer = json.loads(response["body"])
    assert told["id"] == 7
    assert response["statusCode"] == 200 or (version == MODERN and "error" in told)
    return told


def use(stage: Stage, name: str, *, version: str = HANDSHAKE, caller: str = "alice", **arguments: Any) -> Answer:
    """The result of a tool's call."""
    told = ask(stage, "tools/call", {"name": name, "arguments": arguments}, version=version, caller=caller)
    result: Answer = told["result"]
    return result


def mistake(result: Answer) -> Answer:
    """The error that a result tells of, in words and in shape alike."""
    assert result["isError"] is True
    (words,) = result["content"]
    error: Answer = result["structuredContent"]
    assert json.loads(words["text"]) == error
    return error


def stored(stage: Stage) -> list[str]:
    """The keys of all objects in the bucket."""
    found = aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket).get("Contents", [])
    return [item["Key"] for item in found]


both = pytest.mark.parametrize("version", [HANDSHAKE, MODERN])


def test_there_is_no_such_door_unless_it_is_switched_on(clerk: Agent) -> None:
    with Stage(clerk, ScriptedModel()) as stage:
        assert post(stage, {})["statusCode"] == 404


def test_a_client_is_welcomed_with_what_the_toolkits_say_and_not_with_the_system_prompt(stage: Stage) -> None:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    result = ask(stage, "initialize", hello)["result"]
    assert result["serverInfo"] == {"name": "clerk", "version": "1.2.3", "description": "A clerk for tests."}
    assert result["protocolVersion"] == HANDSHAKE
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert result["instructions"] == "Weigh first."
    assert post(stage, {"jsonrpc": "2.0", "method": "notifications/initialized"})["statusCode"] == 202
    assert ask(stage, "ping")["result"] == {}
    assert not stage.aws_calls


@both
def test_tools_are_listed_with_their_exact_schemas(stage: Stage, clerk: Agent, version: str) -> None:
    tools = {item["name"]: item for item in ask(stage, "tools/list", version=version)["result"]["tools"]}
    offered = [tool for tool in clerk.registry if tool.name != "pay"]
    assert list(tools) == [tool.name for tool in offered]
    assert all(tools[tool.name]["inputSchema"] == tool.schema for tool in offered)
    assert tools["join"]["inputSchema"] == SCHEMA
    assert {name: item["annotations"] for name, item in tools.items() if name in ("book", "weigh")} == {
        "book": {"idempotentHint": False},
        "weigh": {"idempotentHint": True},
    }
    assert tools["weigh"]["description"] == "Weighs an item."
    assert "data URI" in tools["count"]["description"]


@both
def test_an_object_comes_as_text_and_as_data(stage: Stage, ledger: SideEffects, version: str) -> None:
    result = use(stage, "weigh", item="é", precise=True, version=version)
    data = {"item": "é", "grams": 1.5, "note": None}
    assert result["structuredContent"] == data
    assert result["isError"] is False
    assert [json.loads(part["text"]) for part in result["content"]] == [data]
    assert ledger.entries == ["weigh é"]


@both
def test_words_come_as_words_and_the_call_leaves_nothing_behind(
    stage: Stage, ledger: SideEffects, version: str
) -> None:
    result = use(stage, "book", seat=4, version=version)
    assert result["content"] == [{"type": "text", "text": "Seat 4 is booked."}]
    assert "structuredContent" not in result
    assert ledger.entries == ["book 4"]
    assert not stage.aws_calls
    assert stage.table_items() == []


ODD = [
    ("", None),
    ("[1]", None),
    ('{"a": NaN}', None),
    ('{"a": 1e999}', None),
    ('{"a": "\\ud800"}', None),
    ('{"a": ' * 300 + "1" + "}" * 300, None),
    ("{broken", None),
    ('{\n "a": 1\n}', {"a": 1}),
    ('words\n{"a": 1}', {"a": 1}),
    ('{"a": ' * 150 + "1" + "}" * 150, ...),
]


@both
@pytest.mark.parametrize(("text", "data"), ODD, ids=[text[:12] for text, _ in ODD])
def test_whatever_a_tool_says_it_reaches_the_client(stage: Stage, text: str, data: Any, version: str) -> None:
    result = use(stage, "say", text=text, version=version)
    assert "".join(part["text"] for part in result["content"]) == text
    assert result.get("structuredContent") == (json.loads(text) if data is ... else data)


def test_files_come_as_links_from_the_owner_s_folder(stage: Stage) -> None:
    words, chart, page = use(stage, "draw", title="a b.svg")["content"]
    assert words == {"type": "text", "text": "drawn"}
    assert {**chart, "uri": ""} == {
        "type": "resource_link",
        "name": "a b.svg",
        "uri": "",
        "mimeType": "image/svg+xml",
        "size": 6,
    }
    assert (page["name"], page["mimeType"]) == ("page.html", "text/html")
    assert [requests.get(link["uri"], timeout=5).content for link in (chart, page)] == [b"<svg/>", b"<p>"]
    assert len(stored(stage)) == 2
    assert len({key.rsplit("/", 2)[0] for key in stored(stage)}) == 1
    assert all(key.startswith("clerk/alice/mcp/") for key in stored(stage))


def test_what_a_tool_keeps_for_the_model_is_not_handed_over(stage: Stage) -> None:
    assert use(stage, "hide")["content"] == [{"type": "text", "text": "hidden"}]
    assert len(stored(stage)) == 1


def test_what_two_callers_have_made_is_kept_apart(stage: Stage) -> None:
    for caller in ("alice", "bob", "alice"):
        use(stage, "draw", caller=caller)
    folders = sorted({tuple(key.split("/")[:4]) for key in stored(stage)})
    assert [folder[1] for folder in folders] == ["alice", "alice", "bob"]


def test_a_file_that_lies_elsewhere_is_handed_on_by_its_address(stage: Stage) -> None:
    _, link = use(stage, "point")["content"]
    assert link == {
        "type": "resource_link",
        "name": "a.mp4",
        "uri": "https://films.example.com/a.mp4",
        "mimeType": "video/mp4",
    }
    assert not stage.aws_calls


def test_of_a_text_that_is_too_long_the_whole_is_behind_a_link(play: Any) -> None:
    stage = play(max_output_chars=100)
    words, link = use(stage, "say", text="é" * 250)["content"]
    assert words["text"].startswith("é" * 100 + "\n… (150 of 250 characters are missing; output-")
    assert link["name"] in words["text"]
    assert requests.get(link["uri"], timeout=5).content.decode() == "é" * 250


BROKEN: list[tuple[str, Any, str, str]] = [
    ("weigh", {}, "invalid_arguments", "$"),
    ("weigh", {"item": 7}, "invalid_arguments", "$.item"),
    ("weigh", {"item": "x", "more": 1}, "invalid_arguments", "$"),
    ("say", {"text": "x" * 3000}, "too_long", ""),
    ("count", {"file": None}, "invalid_arguments", "$.file"),
    ("explode", {}, "tool_failed", ""),
]


@both
@pytest.mark.parametrize(("name", "arguments", "kind", "path"), BROKEN)
def test_a_call_that_fails_says_why_in_its_result(
    play: Any, ledger: SideEffects, name: str, arguments: Answer, kind: str, path: str, version: str
) -> None:
    error = mistake(use(play(max_argument_chars=2000), name, version=version, **arguments))
    assert (error["error_type"], error.get("path", "")) == (kind, path)
    assert ledger.entries == []


@both
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fly", "Unknown tool: fly; there are: weigh"),
        ("complete_task", "Unknown tool"),
        ("pay", "needs its user's app"),
    ],
)
def test_what_is_not_offered_is_not_called(
    stage: Stage, ledger: SideEffects, name: str, said: str, version: str
) -> None:
    error = ask(stage, "tools/call", {"name": name, "arguments": {"amount": 1}}, version=version)["error"]
    assert error["code"] == -32602
    assert said in error["message"]
    assert ledger.entries == []


@both
def test_a_method_that_there_is_not_is_no_method(stage: Stage, version: str) -> None:
    for method in ("resources/list", "prompts/list", "subscriptions/listen", "tasks/send"):
        params: Answer | None = {"notifications": {}} if method == "subscriptions/listen" else None
        assert ask(stage, method, params, version=version)["error"]["code"] == -32601, method


REFUSED: list[tuple[Any, dict[str, str], int, int | None]] = [
    ("{no json", {}, 400, -32700),
    ("", {}, 400, -32700),
    ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], {}, 400, -32602),  # batches are of the protocol's past
    ({"method": "ping"}, {}, 400, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"Accept": "text/html"}, 406, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"Content_Type": "text/plain"}, 400, None),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"MCP_Protocol_Version": "1999-01-01"}, 400, None),
]


@pytest.mark.parametrize(("body", "headers", "status", "code"), REFUSED)
def test_what_is_no_request_is_refused_by_the_rules(
    stage: Stage, body: Any, headers: dict[str, str], status: int, code: int | None
) -> None:
    response = post(stage, body, **headers)
    assert response["statusCode"] == status
    assert code is None or json.loads(response["body"])["error"]["code"] == code


def test_numbers_that_no_json_has_and_depths_that_no_tool_takes_are_refused(stage: Stage) -> None:
    def wire(value: str) -> str:
        params = f'{{"name": "say", "arguments": {{"text": {value}}}}}'
        return f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {params}}}'

    deep, long = "[" * 100_000 + "]" * 100_000, "1" * 5000
    assert [post(stage, wire(value))["statusCode"] for value in (deep, long)] == [400, 400]
    for value in ("NaN", "1e999", "[" * 150 + "]" * 150):
        told = json.loads(post(stage, wire(value))["body"])
        assert told["result"]["isError"] is True, value


def test_a_request_that_is_too_large_is_not_looked_into(play: Any, ledger: SideEffects) -> None:
    body, _ = request_of("tools/call", {"name": "weigh", "arguments": {"item": "x" * 3000}}, HANDSHAKE)
    response = post(play(max_body_size=2000), body)
    assert response["statusCode"] == 413
    assert "2,000 are allowed" in json.loads(response["body"])["error"]["message"]
    assert ledger.entries == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_there_is_no_stream_to_open_and_no_session_to_end(stage: Stage, method: str) -> None:
    response = stage.request(method, "/mcp", caller="alice", headers={"Accept": "text/event-stream"})
    assert response["statusCode"] == 405
    assert response["headers"]["allow"] == "POST"


def test_without_a_token_nobody_gets_in(stage: Stage, ledger: SideEffects) -> None:
    body, _ = request_of("tools/call", {"name": "book", "arguments": {"seat": 1}}, HANDSHAKE)
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        response = post(stage, body, caller=None, **headers)
        assert response["statusCode"] == 401
        assert response["headers"]["www-authenticate"].startswith("Bearer")
    assert ledger.entries == []


def test_pages_of_others_may_not_call_and_those_that_are_named_may(play: Any) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    response = post(play(auth="none"), ping, Origin="https://evil.example.com")
    assert response["statusCode"] == 403
    assert "AGENTFN_CORS_ORIGINS" in json.loads(response["body"])["error"]["message"]
    named = play(cors_origins="https://app.example.com")
    assert post(named, ping, Origin="https://app.example.com")["statusCode"] == 200
    assert post(named, ping, Origin="https://evil.example.com")["statusCode"] == 403
    assert post(play(cors_origins="*"), ping, Origin="https://any.example.com")["statusCode"] == 200


@pytest.mark.parametrize("make", [rest_event, http_event])
@pytest.mark.parametrize("path", ["/agents/clerk/mcp", "/agents/clerk/mcp/"])
def test_the_door_is_where_the_agent_is_however_the_gateway_is_set_up(play: Any, make: Any, path: str) -> None:
    stage = play(base_path="/agents/clerk")
    body, headers = request_of("ping", None, HANDSHAKE)
    for sent in (json.dumps(body), json.dumps(body).encode()):
        event = make("POST", path, sent, {**JSON, **headers, **auth_headers("alice")}, domain="api.example.com")
        told = stage.handler(event, LocalLambdaContext(30))
        assert told["statusCode"] == 200
        assert json.loads(told["body"])["result"] == {}


def test_a_call_has_its_tool_s_time_and_never_more_than_the_front_door_gives(play: Any) -> None:
    error = mistake(use(play(), "sleep"))
    assert error == {"error": "sleep timed out after 1.0 s", "error_type": "timed_out"}
    error = mistake(use(play(request_seconds=4), "doze"))
    assert error["error_type"] == "timed_out"
    assert "send the agent a message" in error["error"]


def test_a_call_that_has_no_time_left_is_not_begun(stage: Stage, ledger: SideEffects) -> None:
    body, headers = request_of("tools/call", {"name": "book", "arguments": {"seat": 1}}, HANDSHAKE)
    event = rest_event("POST", "/mcp", json.dumps(body), {**JSON, **headers, **auth_headers("alice")})
    context = LocalLambdaContext(4)  # of which two are kept back
    result = json.loads(stage.handler(event, context)["body"])["result"]
    assert mistake(result)["error_type"] == "out_of_time"
    assert ledger.entries == []


def test_a_slot_that_never_comes_free_is_waited_for_no_longer_than_the_setting_says(play: Any) -> None:
    stage = play(max_process_tools=1, tool_wait_seconds=0.2)
    assert mistake(use(stage, "sleep"))["error_type"] == "timed_out"  # its thread sleeps on, in the only slot
    assert mistake(use(stage, "weigh", item="x"))["error_type"] == "busy"


@both
@pytest.mark.parametrize("name", ["think", "wait"])
def test_a_tool_that_needs_a_task_says_so(stage: Stage, name: str, version: str) -> None:
    error = mistake(use(stage, name, version=version))
    assert error == {"error": f"{name} needs a task: send the agent a message instead", "error_type": "needs_task"}


def data_uri(content: bytes, name: str = "") -> str:
    return f"data:text/csv{f';name={name}' if name else ''};base64,{base64.b64encode(content).decode()}"


def test_a_file_is_taken_from_a_data_uri_whatever_its_size_counts_as_arguments(play: Any, ledger: SideEffects) -> None:
    stage = play(max_argument_chars=200)
    result = use(stage, "count", file=data_uri(b"x" * 1000, "table.csv"))
    assert result["structuredContent"] == {"bytes": 1000}
    assert result["content"][0]["text"].startswith("table.csv has\n")
    assert ledger.entries == ["count table.csv"]


def test_files_are_fetched_from_their_addresses(play: Any) -> None:
    with RawHttpServer(http_response(b"1;2", "Content-Type: text/csv")) as server:
        result = use(play(fetch_loopback=True), "join", tables=[server.url, data_uri(b"3;4")], unit="kg")
    assert result["content"][0]["text"] == "1;2+3;4kg"
    assert "authorization" not in server.heads[0].lower()


def test_nothing_is_fetched_for_a_call_that_is_wrong(play: Any) -> None:
    with RawHttpServer(http_response(b"1;2")) as server:
        wrong = use(play(fetch_loopback=True), "join", tables=[server.url], unit="lb")
    assert mistake(wrong)["path"] == "$.unit"
    assert server.connections == 0


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["table.csv"], "tables: a file is given by its http(s) address, or"),
        (["/etc/passwd"], "tables: a file is given by"),
        (["file:///etc/passwd"], "tables: a file is given by"),
        (["QUJD"], "tables: a file is given by"),
        (["data:text/csv;base64,%%%"], "not valid base64"),
        (["http://127.0.0.1:1/x"], "tables: "),
        (["http://169.254.169.254/latest/meta-data"], "tables: "),
        ([data_uri(b"x" * 101)], "100 are allowed"),
        ([data_uri(b"x" * 80), data_uri(b"x" * 80)], "40 are allowed"),
        ([data_uri(b"x")] * 3, "too many files; 2 are allowed"),
    ],
)
def test_what_is_no_source_of_a_file_is_refused(play: Any, sources: list[str], said: str) -> None:
    stage = play(max_file_size=100, max_files_size=120, max_files=2)
    error = mistake(use(stage, "join", tables=sources))
    assert error["error_type"] == "file_refused"
    assert said in error["error"]


def say_nothing(say: Write, over: threading.Event) -> None:
    over.wait(20)


def test_files_that_do_not_come_in_time_are_waited_for_no_longer(play: Any) -> None:
    with RawHttpServer(say_nothing) as server:
        error = mistake(use(play(fetch_loopback=True, fetch_seconds=0.3), "join", tables=[server.url]))
    assert error["error_type"] == "file_refused"
    assert "0.3 s" in error["error"]


@both
def test_of_what_broke_the_client_gets_a_reference_and_no_more(play: Any, version: str) -> None:
    stage = play(bucket="nowhere-to-be-found")
    error = ask(stage, "tools/call", {"name": "draw", "arguments": {}}, version=version)["error"]
    assert error["code"] == -32603
    assert error["message"].startswith("Internal error (request ")
    assert "nowhere" not in json.dumps(error)
    assert use(stage, "weigh", item="x", version=version)["isError"] is False


def test_nothing_runs_on_between_two_requests_of_a_warm_process(stage: Stage) -> None:
    left = []

    async def look() -> None:
        left.append(asyncio.all_tasks() - {asyncio.current_task()})

    for version in (HANDSHAKE, MODERN, HANDSHAKE):
        use(stage, "weigh", item="x", version=version)
        mistake(use(stage, "wait", version=version))
        ask(stage, "nothing/such", version=version)
        post(stage, "{no json", MCP_Protocol_Version=version)
        asyncio.get_event_loop().run_until_complete(look())
    assert left == [set(), set(), set()]


def test_an_agent_without_tools_offers_none(ledger: SideEffects) -> None:
    with Stage(Agent(name="mute", description="Has no tools."), ScriptedModel(), mcp=True) as stage:
        assert ask(stage, "tools/list")["result"]["tools"] == []
        assert "there are: none" in ask(stage, "tools/call", {"name": "fly"})["error"]["message"]


def test_an_agent_with_an_executor_has_no_such_door(clerk: Agent) -> None:
    with Stage(clerk, executor=EchoExecutor(), mcp=True) as stage:
        assert post(stage, request_of("ping", None, HANDSHAKE)[0])["statusCode"] == 404


LIGHT = """
import sys
from agentfn import Agent, tool
from agentfn.testing import ScriptedModel, Stage

@tool
def hello() -> str:
    "Says hello."
    return "hello"

JSON = {"Content-Type": "application/json", "Accept": "application/json"}
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
with Stage(Agent(name="clerk", description="A clerk.", tools=[hello]), ScriptedModel("Hello."), mcp=True) as stage:
    stage.request("GET", "/.well-known/agent-card.json")
    stage.get(stage.send("Hi!")["id"])
    assert stage.request("GET", "/mcp", caller="alice")["statusCode"] == 405
    assert stage.request("POST", "/mcp", body=PING, headers=JSON)["statusCode"] == 401
    heavy = {"mcp", "mcp_types", "httpx2"} & sys.modules.keys()
    assert not heavy, heavy
    assert stage.request("POST", "/mcp", caller="alice", body=PING, headers=JSON)["statusCode"] == 200
    assert "mcp" in sys.modules
print("light")
"""

MISSING = """
import sys
sys.modules["httpx2"] = sys.modules["mcp"] = None  # as if they were not installed
from agentfn import Agent, ConfigurationError
from agentfn.testing import ScriptedModel, Stage

with Stage(Agent(name="clerk", description="A clerk."), ScriptedModel("Hello.")) as stage:
    stage.send("Hi!")
try:
    Stage(Agent(name="clerk", description="A clerk."), ScriptedModel(), mcp=True).__enter__()
except ConfigurationError as error:
    print(error)
"""


def run(code: str) -> str:
    environment = {**os.environ, "POWERTOOLS_LOG_LEVEL": "ERROR"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_is_imported_when_the_door_is_called_and_not_before() -> None:
    assert run(LIGHT).endswith("light")


def test_without_the_packages_the_start_says_what_to_install() -> None:
    said = run(MISSING)
    assert said.startswith("AGENTFN_MCP is on, but these packages are missing: mcp, httpx2")
    assert "agentfn[mcp]" in said


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_uses_the_tools_of_an_agent_on_a_laptop(tmp_path: Path, mode: Any) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import ResourceLink, TextContent

    from agentfn.local.local_agent import LocalAgent
    from mcp import Client, MCPError
    from support.agent_folder import write_agent_folder

    async def story(url: str, token: str) -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as mcp,
        ):
            assert mcp.protocol_version == (HANDSHAKE if mode == "legacy" else MODERN)
            assert [tool.name for tool in (await mcp.list_tools()).tools] == ["draw", "wait", "meet"]
            drawn = await mcp.call_tool("draw", {"name": "chart.svg"})
            words, link, _ = drawn.content
            assert isinstance(words, TextContent)
            assert isinstance(link, ResourceLink)
            assert words.text == "drawn"
            assert (await mcp.call_tool("draw", {"name": 7})).is_error
            with pytest.raises(MCPError, match="Unknown tool"):
                await mcp.call_tool("fly", {})
            return link.uri

    with LocalAgent(
        write_agent_folder(tmp_path / "clerk"), environment={"AGENT_MODEL": "scripted", "AGENTFN_MCP": "true"}
    ) as local:
        uri = asyncio.run(story(f"{local.url}/mcp/", local.token))
        assert httpx.get(uri, trust_env=False).content == b"<svg/>"
