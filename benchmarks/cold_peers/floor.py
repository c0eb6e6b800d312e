"""The floor: what serves A2A from DynamoDB on Lambda with nothing of ours. It has no loop, no callers and no model.

Both bindings and both versions of the protocol, as ours. The table's client is made at the first task, as ours.
"""

import functools
import os
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import TaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task
from fastapi import FastAPI
from google.protobuf.json_format import Parse
from mangum import Mangum

CARD = AgentCard(
    name="bench",
    description="An agent that looks at things.",
    version="0.1.0",
    supported_interfaces=[
        AgentInterface(url="https://agent.example.com/", protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url="https://agent.example.com", protocol_binding="HTTP+JSON", protocol_version="1.0"),
    ],
    capabilities=AgentCapabilities(),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="look", name="Look", description="Looks at something.", tags=["look"])],
)


@functools.cache
def table() -> Any:
    import boto3

    return boto3.client("dynamodb")


class Tasks(TaskStore):
    """A task is one item, read and written whole."""

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        key = {"pk": {"S": task_id}, "sk": {"S": "task"}}
        answer = table().get_item(TableName=os.environ["AGENTFN_TABLE"], Key=key, ConsistentRead=True)
        return Parse(answer["Item"]["task"]["S"], Task()) if "Item" in answer else None

    async def save(self, task: Task, context: ServerCallContext) -> None:
        raise NotImplementedError

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        raise NotImplementedError

    async def list(self, params: Any, context: ServerCallContext) -> Any:
        raise NotImplementedError


class Nobody(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


requests = DefaultRequestHandler(Nobody(), Tasks(), CARD)
app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.routes.extend(create_agent_card_routes(CARD))
app.routes.extend(create_jsonrpc_routes(requests, "/", enable_v0_3_compat=True))
app.routes.extend(create_rest_routes(requests, enable_v0_3_compat=True))
handler = Mangum(app, lifespan="off")
