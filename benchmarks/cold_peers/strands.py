"""strands-agents: its A2A server, and its model for OpenAI's chat completions."""

import os

from mangum import Mangum
from old_task import put
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.multiagent.a2a import A2AServer


@tool
async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


def agent(_: str) -> Agent:
    door = {"base_url": os.environ["COLD_MODEL_URL"], "api_key": "sk-cold"}
    model = OpenAIModel(client_args=door, model_id="gpt-5")
    return Agent(
        model=model,
        name="bench",
        description="An agent that looks at things.",
        system_prompt="Look.",
        tools=[look],
        callback_handler=None,
    )


server = A2AServer(agent_factory=agent, http_url="https://agent.example.com/")
handler = Mangum(server.to_starlette_app(), lifespan="off")


def remember(task_id: str) -> None:
    put(server.request_handler.task_store, task_id)
