"""The agent under test. Its model follows the steps in the first message; its tools log their effects."""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from agentfn import Agent, Context, File, Output, tool
from agentfn.models import ModelRequest
from agentfn.testing import ScriptedModel, calls
from agentfn.tools import Tool
from chaos.event_log import EventLog
from chaos.fault_injection import FaultInjector

PlannedStep = list[list[Any]]  # the calls of one turn: tool name and arguments

CURRENT_RUN: ContextVar[tuple[str, int]] = ContextVar("holder", default=("", 0))  # the task and run of the current code
ONCE_ONLY_TOOLS = frozenset({"pay", "book"})  # tools whose effects must not happen twice
TOOL_CHOICES = ("look", "look", "pay", "pay", "book", "book", "draw", "rest")


def plan_steps(rng: random.Random) -> list[PlannedStep]:
    """The random steps of one task. One task in ten is longer than an invocation; one in six asks its user."""
    count = rng.randint(9, 13) if rng.random() < 0.1 else rng.randint(1, 5)
    steps = [_random_step(rng, at) for at in range(count)]
    if rng.random() < 0.17:
        steps.insert(rng.randint(0, count), [["ask_user", {"question": "Shall I go on?"}]])
    return steps


def _random_step(rng: random.Random, at: int) -> PlannedStep:
    width = rng.choice((1, 1, 2, 3))
    long = rng.random() < 0.1
    return [
        [
            rng.choice(TOOL_CHOICES),
            {"at": 10 * at + place, "seconds": round(rng.uniform(0.5, 1.5) if long else 0.02, 2)},
        ]
        for place in range(width)
    ]


def make_agent(event_log: EventLog, injector: FaultInjector) -> Agent:
    def act(name: str, context: Context) -> None:
        injector.reach("before effect")
        event_log.write("effect", tool=name, key=context.idempotency_key, run=CURRENT_RUN.get()[1])
        injector.reach("after effect")

    return Agent(
        name="clerk",
        description="Does as it is told, and writes it down.",
        tools=[*_blocking_tools(act), *_async_tools(act)],
        models={"scripted": lambda: ScriptedModel.from_function(_model_function(event_log, injector))},
    )


def _blocking_tools(act: Callable[[str, Context], None]) -> list[Tool]:
    @tool(idempotent=True)
    def look(at: int, seconds: float, context: Context) -> str:
        """Looks."""
        act("look", context)
        time.sleep(seconds)
        return "seen"

    @tool
    def pay(at: int, seconds: float, context: Context) -> str:
        """Pays, once."""
        time.sleep(seconds)
        act("pay", context)
        return "paid"

    @tool(idempotent=True)
    def draw(at: int, seconds: float, context: Context) -> Output:
        """Draws."""
        act("draw", context)
        time.sleep(seconds)
        return Output("drawn", files=[File(f"{at}.txt", b"x" * 100, "text/plain")])

    return [look, pay, draw]


def _async_tools(act: Callable[[str, Context], None]) -> list[Tool]:
    @tool
    async def book(at: int, seconds: float, context: Context) -> str:
        """Books, once."""
        act("book", context)
        await asyncio.sleep(seconds)
        return "booked"

    @tool(idempotent=True)
    async def rest(at: int, seconds: float, context: Context) -> str:
        """Rests."""
        context.progress(f"resting {at}")
        await asyncio.sleep(seconds)
        act("rest", context)
        return "rested"

    return [book, rest]


def _model_function(event_log: EventLog, injector: FaultInjector) -> Callable[[ModelRequest], Awaitable[Any]]:
    async def answer(prompt: ModelRequest) -> Any:
        injector.reach("before answer")
        task, run = CURRENT_RUN.get()
        event_log.write("ask", task=task, run=run, turn=len(prompt.turns))
        await asyncio.sleep(0.02)
        injector.reach("after answer")
        steps = json.loads(prompt.turns[0].text)["steps"]
        taken = sum(turn.role == "assistant" for turn in prompt.turns)
        return tuple(calls(name, **said) for name, said in steps[taken]) if taken < len(steps) else "Done."

    return answer
