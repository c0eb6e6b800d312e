"""An agent that does what its message says, word by word: each word is a tool, and one step.

Its tools leave a mark in the bucket for each time that they really ran, and some of them end the process that they run
in. Its package holds no litellm: the model is its own, and finds its place in the transcript and nowhere else.
"""

import asyncio
import ctypes
import functools
import json
import os
import signal
import time
from typing import Any
from uuid import uuid4

from agentfn import Agent, Context, serve, tool
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall

NAME = "steps"
PAUSE = float(os.environ.get("STEPS_PAUSE") or 0)
"""Seconds that the model takes for each answer."""
LINGERING = 6.0


class WordByWord(Model):
    """Its answer at the end is what the tools have answered, one line for each."""

    name = NAME

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        await asyncio.sleep(PAUSE)
        words = prompt.turns[0].text.split()
        answered = [turn.text for turn in prompt.turns if turn.role == "tool"]
        if len(answered) == len(words):
            return ModelResponse("\n".join(answered))
        number = len(answered) + 1
        call = ToolCall(f"call_{number}", words[number - 1], json.dumps({"number": number}))
        return ModelResponse(tool_calls=(call,), finish_reason="tool_calls")


@functools.cache
def s3() -> Any:
    import boto3

    return boto3.client("s3")


def leave_mark(context: Context, what: str) -> None:
    """An empty object, whose name says what happened and when; twice is two."""
    key = f"{NAME}/marks/{context.task_id}/{time.time():.3f} {what} {uuid4().hex}"
    s3().put_object(Bucket=os.environ["AGENTFN_BUCKET"], Key=key)


@tool
def mark(number: int, context: Context) -> str:
    """Leaves a mark."""
    leave_mark(context, f"mark-{number}")
    return f"marked {number}"


@tool
def freeze(number: int, context: Context) -> str:
    """Stops the whole process, its event loop too, for longer than an invocation may take."""
    leave_mark(context, f"freeze-{number}")
    ctypes.PyDLL(None).sleep(600)  # a PyDLL keeps the interpreter's lock, as a C extension may that never returns
    return "thawed"


@tool
def die(number: int, context: Context) -> str:
    """Ends the process at once, as running out of memory does."""
    leave_mark(context, f"die-{number}")
    os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@tool(idempotent=True)
def die_again(number: int, context: Context) -> str:
    """Ends the process too. The next run calls it again, because it may be."""
    leave_mark(context, f"die_again-{number}")
    os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@tool
async def linger(number: int, context: Context) -> str:
    """Takes its time between two marks."""
    await asyncio.to_thread(leave_mark, context, f"linger-{number}")
    await asyncio.sleep(LINGERING)
    await asyncio.to_thread(leave_mark, context, f"lingered-{number}")
    return f"lingered {number}"


agent = Agent(
    name="steps",
    description="Does what its message says, word by word.",
    tools=[mark, freeze, die, die_again, linger],
    models={"steps": WordByWord},
)
handler = serve(agent)
