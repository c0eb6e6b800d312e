"""Limits, cancels and the event loop."""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from agentfn.errors import ModelUnavailable
from agentfn.models import ModelRequest
from provider_stubs.clients import (
    MODEL_CLASSES,
    MODEL_NAMES,
    AnyModel,
    Ask,
    ClientKind,
    close_connections,
    hello_request,
)
from provider_stubs.script import BrokenStream, Dialect, NoResponse, ScriptEntry, hangs, says, trickles
from provider_stubs.server import StubProvider

pytestmark = pytest.mark.slow

type Asking = Callable[[AnyModel], Awaitable[object]]


async def _asked(model: AnyModel) -> object:
    return await model.generate(hello_request())


async def _streamed(model: AnyModel) -> object:
    async with aclosing(model.stream(hello_request())) as items:
        return [item async for item in items]


@pytest.mark.parametrize("line", [hangs(), trickles()], ids=lambda line: line.kind)
def test_a_call_ends_at_its_timeout_whatever_the_provider_does(
    line: NoResponse, provider: StubProvider, ask: Ask
) -> None:
    provider.play(line)
    began = time.monotonic()

    with pytest.raises(ModelUnavailable, match="did not answer within 2 s"):
        ask(hello_request(timeout=2.0))

    assert 1.9 < time.monotonic() - began < 60
    assert len(provider.requests) == 1


def test_the_timeout_covers_reading_the_key(
    client: ClientKind, dialect: Dialect, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    locked = threading.Event()
    model = MODEL_CLASSES[client, dialect](
        MODEL_NAMES[dialect], api_key=lambda: str(locked.wait(60)), base_url=provider.anthropic
    )

    with pytest.raises(ModelUnavailable):
        loop.run_until_complete(model.generate(hello_request(timeout=0.2)))

    locked.set()
    assert not provider.requests


def test_a_new_key_is_used_for_the_next_request(
    client: ClientKind, dialect: Dialect, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    keys = iter(["old", "new"])
    model = MODEL_CLASSES[client, dialect](
        MODEL_NAMES[dialect], api_key=lambda: next(keys), base_url=getattr(provider, dialect)
    )
    provider.play(says("one"), says("two"))

    for _ in range(2):
        loop.run_until_complete(model.generate(hello_request()))

    headers = [request.headers for request in provider.requests]
    keys_sent = [seen.get("x-api-key") or seen["authorization"].removeprefix("Bearer ") for seen in headers]
    assert keys_sent == ["old", "new"]


def test_a_connection_is_reused_whatever_the_timeouts(
    provider: StubProvider, ask: Ask, loop: asyncio.AbstractEventLoop
) -> None:
    """A stream whose end comes a moment after its last event costs its connection: on a busy machine, several do."""
    loop.run_until_complete(close_connections())  # the tests before this one left many behind
    ports: list[int] = []

    while len(ports) < 60 and len(set(ports)) == len(ports):
        provider.play(says("one"))
        ask(hello_request(timeout=(30.0, 20.5, 11.25)[len(ports) % 3]))
        ports = [request.port for request in provider.requests]

    assert len(set(ports)) < len(ports)


def test_an_answer_leaves_no_task_behind(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    """A task that is left would be frozen with the process, and continue in the next caller's request."""
    provider.play(says("one"))

    loop.run_until_complete(model.generate(hello_request()))

    assert not asyncio.all_tasks(loop)


def test_a_cancel_closes_the_connection_and_leaves_no_task_behind(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(hangs(), says("next"))

    async def cancelled() -> None:
        asking = asyncio.ensure_future(model.generate(hello_request()))
        while not provider.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    loop.run_until_complete(cancelled())

    assert not asyncio.all_tasks(loop)
    assert loop.run_until_complete(model.generate(hello_request())).text == "next"
    _until(lambda: provider.hang_ups == 1)


# litellm's own thread cannot be cancelled; the coroutine that it prepared is dropped before it starts. agentfn
# has this filter too, but pytest replaces it.
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("asking", [_asked, _streamed])
def test_a_cancel_at_any_moment_leaves_nothing_behind(
    asking: Asking, dialect: Dialect, provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    stuck: ScriptEntry = BrokenStream(says("In France."), 3, "hang") if asking is _streamed else hangs()
    provider.play(says("warm"), *[stuck] * 100)
    loop.run_until_complete(asking(model))
    complaints: list[object] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))

    async def cancelled(steps: int) -> None:
        call = asyncio.ensure_future(asking(model))
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    steps = 0
    while len(provider.requests) < 4:  # however long it takes here until one has started, and until they have arrived
        loop.run_until_complete(cancelled(steps))
        steps = int(steps * 1.2) + 1
    gc.collect()
    loop.set_exception_handler(None)

    assert not complaints
    assert not asyncio.all_tasks(loop)
    _until(lambda: provider.hang_ups == len(provider.requests) - 1)


def test_a_second_event_loop_works_when_the_first_one_is_closed_properly(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(says("one"), says("two"), says("three"))
    loop.run_until_complete(model.generate(hello_request()))
    other = asyncio.new_event_loop()

    other.run_until_complete(model.generate(hello_request()))
    other.run_until_complete(close_connections())
    other.close()
    gc.collect()

    assert loop.run_until_complete(model.generate(hello_request())).text == "three"


def test_concurrent_requests_get_their_own_responses(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(*[says("yes")] * 5)
    prompts: list[ModelRequest] = [hello_request(f"Question {number}") for number in range(5)]

    async def all_of_them() -> list[str]:
        return [reply.text for reply in await asyncio.gather(*map(model.generate, prompts))]

    assert loop.run_until_complete(all_of_them()) == ["yes"] * 5
    assert len(provider.requests) == 5


def _until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
