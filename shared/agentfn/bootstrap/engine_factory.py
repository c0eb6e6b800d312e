"""The engine that runs the agent's model loop, and its limits."""

from agentfn.agent import Agent
from agentfn.bootstrap.model_factory import create_model, create_router_model
from agentfn.loop import LoopLimits
from agentfn.loop.loop_limits import LIFECYCLE_TOOL_NAMES, RetryPolicy
from agentfn.runs.loop_engine import LoopEngine
from agentfn.settings import Settings
from agentfn.tools import ToolRegistry
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits


def create_loop_engine(agent: Agent, settings: Settings) -> LoopEngine:
    """Raises ConfigurationError if no model is named, or a tool has the name of a lifecycle tool."""
    if LIFECYCLE_TOOL_NAMES & {tool.name for tool in agent.registry}:
        from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS

        ToolRegistry([*LIFECYCLE_TOOLS, *agent.registry])  # raises the error
    return LoopEngine(
        agent=agent,
        settings=settings,
        get_model=create_model(agent, settings),
        limits=loop_limits(settings),
        limiter=ConcurrencyLimiter(settings.tools.max_per_process),
        get_router_model=create_router_model(agent, settings),
    )


def loop_limits(settings: Settings) -> LoopLimits:
    tools = ToolLimits(
        timeout_seconds=settings.tools.timeout_seconds,
        wait_seconds=settings.tools.wait_seconds,
        max_argument_chars=settings.tools.max_argument_chars,
        max_output_chars=settings.tools.max_output_chars,
        max_parallel_calls=settings.tools.max_parallel,
    )
    return LoopLimits(
        max_steps=settings.loop.max_steps,
        max_total_tokens=settings.loop.max_tokens,
        max_cost=settings.loop.max_cost,
        max_history_chars=settings.loop.max_history_chars,
        max_history_tokens=settings.loop.max_history_tokens,
        max_repeats=settings.loop.max_repeats,
        max_retry_prompts=settings.loop.max_retry_prompts,
        retry_policy=RetryPolicy(settings.model.timeout_seconds, settings.model.max_retries),
        tools=tools,
    )
