"""pydantic-ai: fasta2a's bridge, and its model for OpenAI's chat completions.

It answers a message before the agent begins, and ends the agent with the invocation: its model is asked by a stream.
"""

import os

from fasta2a.pydantic_ai import agent_to_a2a
from fasta2a.schema import Task, TaskStatus
from fasta2a.storage import InMemoryStorage
from mangum import Mangum
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

storage = InMemoryStorage()
provider = OpenAIProvider(base_url=os.environ["COLD_MODEL_URL"], api_key="sk-cold")
agent = Agent(OpenAIChatModel("gpt-5", provider=provider), name="bench", instructions="Look.")


@agent.tool_plain
async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


handler = Mangum(agent_to_a2a(agent, storage=storage, url="https://agent.example.com/"), lifespan="auto")


def remember(task_id: str) -> None:
    storage.tasks[task_id] = Task(id=task_id, context_id="context", status=TaskStatus(state="completed"))
