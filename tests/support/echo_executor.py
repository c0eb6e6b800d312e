"""An executor for tests, written against a2a-sdk alone."""

import asyncio

from a2a.helpers import new_raw_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Role, TaskState, TaskStatus, TaskStatusUpdateEvent


class EchoExecutor(AgentExecutor):
    """Answers with the text it was sent and a file. Some texts make it fail, wait or ask; `runs` counts the calls."""

    def __init__(self) -> None:
        self.runs = 0
        self.cancelled = False

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.runs += 1
        text = context.get_user_input()
        task_id, context_id = str(context.task_id), str(context.context_id)
        updater = TaskUpdater(event_queue, task_id, context_id)
        match text:
            case "crash":
                raise RuntimeError("broken")
            case "silence":
                return
            case "sleep":
                await asyncio.sleep(60)
            case "talk":
                said = Message(message_id="m", role=Role.ROLE_AGENT, parts=[new_text_part("Just talk.")])
                await event_queue.enqueue_event(said)
                return
            case "ask":
                await updater.requires_input(updater.new_agent_message([new_text_part("Which?")]))
                return
        await updater.start_work()
        raw = b"".join(part.raw for part in (context.message.parts if context.message else []))
        await updater.add_artifact([new_raw_part(raw + b"!", "text/plain", "echo.txt")], name="echo")
        await updater.complete(updater.new_agent_message([new_text_part(f"You said {text}.")]))
        late = TaskStatusUpdateEvent(status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
        await event_queue.enqueue_event(late)  # after the end, and so of no account
        if text == "hello":
            raise RuntimeError("so is this")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.cancelled = True
