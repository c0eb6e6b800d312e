"""The local server: when it is entered, it accepts connections."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn

from agentfn.local.execution_environments import ExecutionEnvironments
from agentfn.local.http_server import HttpServer


def handle(event: dict[str, Any], _: Any) -> dict[str, Any]:
    return {"statusCode": 200, "headers": {"content-type": "text/plain"}, "body": event["path"]}


@pytest.fixture
def environments() -> Iterator[ExecutionEnvironments]:
    def create() -> Any:
        asyncio.set_event_loop(asyncio.new_event_loop())
        return handle

    environments = ExecutionEnvironments(create, max_count=1, seconds=10)
    yield environments
    environments.close()


def test_connections_are_accepted_when_the_server_is_entered_however_slowly_it_starts(
    environments: ExecutionEnvironments, monkeypatch: pytest.MonkeyPatch
) -> None:
    startup = uvicorn.Server.startup

    async def slow_startup(self: uvicorn.Server, *arguments: Any, **named: Any) -> None:
        await asyncio.sleep(0.3)
        await startup(self, *arguments, **named)

    monkeypatch.setattr(uvicorn.Server, "startup", slow_startup)
    server = HttpServer()
    with server.serve(environments):
        assert httpx.get(f"{server.url}/a", trust_env=False).text == "/a"
    server.close()


def test_a_server_that_ends_before_it_accepts_connections_is_reported(
    environments: ExecutionEnvironments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    server = HttpServer()
    with pytest.raises(RuntimeError, match="before it accepted connections"), server.serve(environments):
        pass
    server.close()
