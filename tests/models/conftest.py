import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from agentfn.models import ModelRequest, ModelResponse
from agentfn.models.providers.litellm_internals import load_litellm
from provider_stubs.clients import (
    AWS_ENVIRONMENT,
    MODEL_CLASSES,
    AnyModel,
    Ask,
    AskStreaming,
    ClientKind,
    close_connections,
    hello_request,
    make_model,
)
from provider_stubs.script import DIALECTS, Dialect, says
from provider_stubs.server import StubProvider


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Not every client reaches every provider."""
    items[:] = [item for item in items if _leads(getattr(getattr(item, "callspec", None), "params", {}))]


def _leads(params: dict[str, Any]) -> bool:
    return not params.keys() >= {"client", "dialect"} or (params["client"], params["dialect"]) in MODEL_CLASSES


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all tests, as a process has one for all its invocations. What the first question of each dialect
    costs once is paid here, before anything is timed.
    """
    load_litellm()
    loop = asyncio.new_event_loop()
    with pytest.MonkeyPatch.context() as patch, StubProvider(*[says("warm")] * 2 * len(MODEL_CLASSES)) as provider:
        for name, value in AWS_ENVIRONMENT.items():
            patch.setenv(name, value)
        for client, dialect in MODEL_CLASSES:
            model = make_model(dialect, provider, client=client)
            loop.run_until_complete(model.generate(hello_request()))
            loop.run_until_complete(_told(model, hello_request()))
    yield loop
    loop.run_until_complete(close_connections())
    loop.close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=["litellm", "direct"])
def client(request: pytest.FixtureRequest) -> ClientKind:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def provider() -> Iterator[StubProvider]:
    with StubProvider() as provider:
        yield provider


@pytest.fixture
def model(client: ClientKind, dialect: Dialect, provider: StubProvider) -> AnyModel:
    return make_model(dialect, provider, client=client)


@pytest.fixture
def ask_streaming(loop: asyncio.AbstractEventLoop) -> AskStreaming:
    """Streams from a model. Returns the pieces of text and the response."""
    return lambda model, prompt: loop.run_until_complete(_told(model, prompt))


@pytest.fixture(params=["plain", "streamed"])
def ask(
    request: pytest.FixtureRequest, model: AnyModel, loop: asyncio.AbstractEventLoop, ask_streaming: AskStreaming
) -> Ask:
    """Sends a request plain and streamed: both give the same response."""
    if request.param == "streamed":
        return lambda prompt: ask_streaming(model, prompt)[1]
    return lambda prompt: loop.run_until_complete(model.generate(prompt))


async def _told(model: AnyModel, prompt: ModelRequest) -> tuple[list[str], ModelResponse]:
    async with aclosing(model.stream(prompt)) as items:
        *texts, reply = [item async for item in items]
    assert isinstance(reply, ModelResponse)
    return [text for text in texts if isinstance(text, str)], reply
