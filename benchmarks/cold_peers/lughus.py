"""lughus: its gateway, its application and its LLM, which asks through litellm."""

import os
from collections.abc import AsyncIterator
from typing import Any

from a2a.types import AgentCapabilities, AgentCard, AgentSkill
from lughus import LLM, BaseGateway, BaseSettings, CompletionEvent, ToolRegistry, agent_loop, build_app
from lughus.interfaces.server import BoundedInMemoryTaskStore
from mangum import Mangum
from old_task import put

CARD = AgentCard(
    name="bench",
    description="An agent that looks at things.",
    url="https://agent.example.com/",
    version="0.1.0",
    capabilities=AgentCapabilities(),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="look", name="Look", description="Looks at something.", tags=["look"])],
)
registry = ToolRegistry()


@registry.tool
async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


class Gateway(BaseGateway):
    async def handle(self, objective: str, files: Any) -> AsyncIterator[CompletionEvent]:
        text = await agent_loop(self.llm, system="Look.", context=objective, registry=registry, tool_names=["look"])
        yield CompletionEvent(text=str(text))


store = BoundedInMemoryTaskStore()
llm = LLM("openai/gpt-5", params={"api_base": os.environ["COLD_MODEL_URL"], "api_key": "sk-cold"})
handler = Mangum(build_app(CARD, Gateway(llm, BaseSettings()), task_store=store, setup_otel=False), lifespan="off")


def remember(task_id: str) -> None:
    put(store, task_id)
