"""agentfn: an agent with a tool, behind its real handler. AGENT_MODEL_PROVIDER says which client asks the model."""

from agentfn import Agent, Skill, serve, tool


@tool
async def look(at: str) -> str:
    """Looks at something."""
    return f"seen {at}"


agent = Agent(
    name="bench",
    description="An agent that looks at things.",
    instructions="Look.",
    tools=[look],
    skills=[Skill("look", "Look", "Looks at something.", ("look",))],
)
handler = serve(agent)
