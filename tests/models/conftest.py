import asyncio
from collections.abc import Iterator
from typing import cast

import pytest

from agentfn.models.litellm import LitellmModel, close, load
from stubs.dialects import Dialect
from stubs.doors import Ask, speaking
from stubs.providers import Provider


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One loop for all tests, as a process has one for all its invocations; the first of them imports litellm."""
    load()
    loop = asyncio.new_event_loop()
    yield loop
    loop.run_until_complete(close())
    loop.close()


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return cast("Dialect", request.param)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def model(dialect: Dialect, provider: Provider) -> LitellmModel:
    return speaking(dialect, provider)


@pytest.fixture
def ask(model: LitellmModel, loop: asyncio.AbstractEventLoop) -> Ask:
    return lambda prompt: loop.run_until_complete(model.ask(prompt))
