"""openai-agents: it has no A2A, so an agent that asks once, by chat completions and without tracing."""

import asyncio
import os

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI


@function_tool
async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


client = AsyncOpenAI(base_url=os.environ["COLD_MODEL_URL"], api_key="sk-cold")
model = OpenAIChatCompletionsModel(model="gpt-5", openai_client=client)
agent = Agent(name="bench", instructions="Look.", model=model, tools=[look])


def ask() -> str:
    result = asyncio.run(Runner.run(agent, "Go", run_config=RunConfig(tracing_disabled=True)))
    return str(result.final_output)
