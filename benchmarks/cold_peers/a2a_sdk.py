"""Plain a2a-sdk: its own request handler and its store in memory, and an executor that asks with OpenAI's client."""

import asyncio
import os

from a2a.auth.user import UnauthenticatedUser
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from fastapi import FastAPI
from mangum import Mangum
from openai import AsyncOpenAI

CARD = AgentCard(
    name="bench",
    description="An agent that looks at things.",
    version="0.1.0",
    supported_interfaces=[
        AgentInterface(url="https://agent.example.com/", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    capabilities=AgentCapabilities(),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="look", name="Look", description="Looks at something.", tags=["look"])],
)


class Asking(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        client = AsyncOpenAI(base_url=os.environ["COLD_MODEL_URL"], api_key="sk-cold")
        asked = [{"role": "user", "content": context.get_user_input()}]
        answer = await client.chat.completions.create(model="gpt-5", messages=asked)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.complete(new_text_message(answer.choices[0].message.content or ""))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def remember(task_id: str) -> None:
    task = Task(id=task_id, context_id="context", status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED))
    asyncio.run(store.save(task, ServerCallContext(user=UnauthenticatedUser())))
    asyncio.set_event_loop(asyncio.new_event_loop())


store = InMemoryTaskStore()
requests = DefaultRequestHandler(Asking(), store, CARD)
app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.routes.extend(create_agent_card_routes(CARD))
app.routes.extend(create_jsonrpc_routes(requests, "/"))
handler = Mangum(app, lifespan="off")
