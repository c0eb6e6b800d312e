"""The agent of the conformance suites: what it does follows from how a message's id, or its text, begins.

It is an executor of a2a-sdk in the place of the loop, because the suites want artifacts and messages of every shape.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Part, Role
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value

from agentfn import Agent, Skill, serve

HELLO = "Hello from TCK"
Act = Callable[[TaskUpdater, RequestContext], Awaitable[Any]]


def text(words: str) -> list[Part]:
    return [Part(text=words)]


def said(updater: TaskUpdater, words: str) -> Message:
    return updater.new_agent_message(text(words))


async def complete(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.complete(said(updater, HELLO))


async def ask(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.requires_input(said(updater, "What else?"))


async def reject(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.reject(said(updater, "Not for me."))


async def ask_for_auth(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.requires_auth(said(updater, "Please sign in."))


async def fail(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.failed(said(updater, "It went wrong."))


def give(part: Part) -> Act:
    async def act(updater: TaskUpdater, _: RequestContext) -> None:
        await updater.add_artifact([part], name="output", last_chunk=True)
        await updater.complete(said(updater, "Done."))

    return act


def after(seconds: float) -> Act:
    async def act(updater: TaskUpdater, context: RequestContext) -> None:
        await updater.start_work()
        await asyncio.sleep(seconds)
        await complete(updater, context)

    return act


async def stream(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.start_work(said(updater, "Working."))
    await asyncio.sleep(0.2)
    await updater.add_artifact(text("Generated text content"), name="output", last_chunk=True)
    await updater.complete(said(updater, "Done."))


async def chunks(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.start_work()
    await updater.add_artifact(text("first "), artifact_id="chunked", name="output", append=False, last_chunk=False)
    await updater.add_artifact(text("second"), artifact_id="chunked", name="output", append=True, last_chunk=True)
    await updater.complete(said(updater, "Done."))


async def long(updater: TaskUpdater, _: RequestContext) -> None:
    for number in range(8):
        await updater.start_work(said(updater, f"Step {number + 1} of 8."))
        await asyncio.sleep(0.5)
    await updater.add_artifact(text("Generated text content"), name="output", last_chunk=True)
    await updater.complete(said(updater, "Done."))


async def wait_for_cancel(updater: TaskUpdater, _: RequestContext) -> None:
    await updater.start_work()
    await asyncio.sleep(60)
    await updater.complete()


async def many_turns(updater: TaskUpdater, context: RequestContext) -> None:
    if context.get_user_input().startswith("done"):
        await updater.complete(said(updater, "Done."))
    else:
        await updater.requires_input(said(updater, "Go on, or say done."))


DATA: Any = ParseDict({"key": "value", "count": 42}, Value())
ACTS: dict[str, Act] = {
    "tck-complete-task": complete,
    "tck-input-required": ask,
    "tck-artifact-text": give(Part(text="Generated text content")),
    "tck-artifact-file-url": give(Part(url="https://example.com/output.txt", filename="output.txt")),
    "tck-artifact-file": give(Part(raw=b"tck", filename="output.txt", media_type="text/plain")),
    "tck-artifact-data": give(Part(data=DATA)),
    "tck-reject-task": reject,
    "tck-auth-required": ask_for_auth,
    "tck-task-failure": fail,
    "tck-delayed-complete": after(2.0),
    "tck-stream-artifact-chunked": chunks,
    "tck-stream-chunked": chunks,
    "tck-stream-artifact-text": stream,
    "tck-stream-artifact-file": give(Part(raw=b"tck", filename="output.txt", media_type="text/plain")),
    "tck-stream-001": stream,
    "tck-stream-003": stream,
    "tck-stream-ordering-001": stream,
    "tck-stream-basic": stream,
    "tck-long-running": long,
    "tck-multi-turn": many_turns,
    "tck-cancel": wait_for_cancel,
    "test-resubscribe-message-id": long,
    "count: 1 ": stream,
    "count: 2 ": stream,
    "count: 12 ": long,
}
MESSAGES = ("tck-message-response", "tck-stream-002")


def _names(context: RequestContext) -> list[str]:
    """What decides: the last message's id and text, then those of the first one of its task."""
    task = context.current_task
    messages = [context.message, *(task.history[:1] if task else [])]
    return [name for said in messages if said for name in (said.message_id, "".join(part.text for part in said.parts))]


class Suite(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        names = _names(context)
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        if any(name.startswith(MESSAGES) for name in names):
            parts = text("Direct message response")
            await event_queue.enqueue_event(
                Message(message_id="reply", role=Role.ROLE_AGENT, context_id=str(context.context_id), parts=parts)
            )
            return
        act = next((ACTS[begin] for name in names for begin in ACTS if name.startswith(begin)), after(0.7))
        await act(updater, context)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        return


agent = Agent(
    name="conformance",
    description="Does what the conformance suites agree on.",
    skills=[Skill(id="tck", name="TCK", description="Behaves as agreed.", tags=("test",))],
    input_modes=("text/plain", "application/json"),
    output_modes=("text/plain", "application/json"),
)
handler = serve(agent, executor=Suite(), repeatable=True)
