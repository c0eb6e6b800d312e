"""google-adk: its A2A application, which is made in its lifespan, and its own model, which is Gemini."""

import asyncio
import os

from a2a.auth.user import UnauthenticatedUser
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Task, TaskState, TaskStatus
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from mangum import Mangum


async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


door = {"api_key": "sk-cold", "http_options": {"base_url": os.environ["COLD_MODEL_URL"]}}
model = Gemini(model="gemini-2.5-flash", client_kwargs=door)
agent = LlmAgent(
    name="bench", description="An agent that looks at things.", model=model, instruction="Look.", tools=[look]
)
store = InMemoryTaskStore()
handler = Mangum(to_a2a(agent, task_store=store), lifespan="auto")


def remember(task_id: str) -> None:
    task = Task(id=task_id, context_id="context", status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED))
    asyncio.run(store.save(task, ServerCallContext(user=UnauthenticatedUser())))
    asyncio.set_event_loop(asyncio.new_event_loop())  # the one that Mangum asks for
