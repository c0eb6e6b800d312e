import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from agentfn.models import Prompt, Reply
from agentfn.models.litellm import LitellmModel, close, load
from stubs.doors import AWS, Ask, Telling, hello, speaking
from stubs.lines import DIALECTS, Dialect, says
from stubs.providers import Provider


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all tests, as a process has one for all its invocations. What the first question of each dialect
    costs once is paid here, before anything is timed.
    """
    load()
    loop = asyncio.new_event_loop()
    with pytest.MonkeyPatch.context() as patch, Provider(*[says("warm")] * len(DIALECTS)) as provider:
        for name, value in AWS.items():
            patch.setenv(name, value)
        for dialect in DIALECTS:
            loop.run_until_complete(speaking(dialect, provider).ask(hello()))
    yield loop
    loop.run_until_complete(close())
    loop.close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def model(dialect: Dialect, provider: Provider) -> LitellmModel:
    return speaking(dialect, provider)


@pytest.fixture
def telling(loop: asyncio.AbstractEventLoop) -> Telling:
    """Streams from a model: the pieces of text, and the reply."""

    async def told(model: LitellmModel, prompt: Prompt) -> tuple[list[str], Reply]:
        async with aclosing(model.stream(prompt)) as items:
            *texts, reply = [item async for item in items]
        assert isinstance(reply, Reply)
        return [text for text in texts if isinstance(text, str)], reply

    return lambda model, prompt: loop.run_until_complete(told(model, prompt))


@pytest.fixture(params=["plain", "streamed"])
def ask(request: pytest.FixtureRequest, model: LitellmModel, loop: asyncio.AbstractEventLoop, telling: Telling) -> Ask:
    """Asks in both ways, which come to the same."""
    if request.param == "streamed":
        return lambda prompt: telling(model, prompt)[1]
    return lambda prompt: loop.run_until_complete(model.ask(prompt))
