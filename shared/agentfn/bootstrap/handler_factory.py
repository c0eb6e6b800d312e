"""`serve`: an agent's Lambda handler."""

import functools
import os
from typing import TYPE_CHECKING

from agentfn.agent import Agent
from agentfn.bootstrap.engine_factory import create_loop_engine
from agentfn.bootstrap.event_source_factory import create_event_sources
from agentfn.lambda_handler import LambdaHandler
from agentfn.runs.executor_engine import ExecutorEngine
from agentfn.settings import Settings
from agentfn.telemetry import logger
from agentfn.warm_up import prepare_environment

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor


def serve(
    agent: Agent, settings: Settings | None = None, *, executor: "AgentExecutor | None" = None, repeatable: bool = False
) -> LambdaHandler:
    """The agent's Lambda handler: for API Gateway (REST, HTTP API v1 and v2), the agent's queue and its schedule.

    `executor` is an agent of another framework that replaces the loop: the tools, instructions and model of `agent`
    are not used. It runs in one invocation for a queue message; `repeatable` allows another run after one that died.

    Reads the environment once. Raises ConfigurationError, which names the variable, for a missing or wrong setting.
    """
    engine = ExecutorEngine(executor, repeatable) if executor is not None else None
    handler = create_handler(agent, settings or Settings.load(os.environ), engine)
    prepare_environment(handler.engine)
    return handler


def create_handler(agent: Agent, settings: Settings, executor: ExecutorEngine | None = None) -> LambdaHandler:
    logger.append_keys(agent=agent.name)
    engine = executor or create_loop_engine(agent, settings)
    create_another = functools.partial(create_handler, agent, settings, executor)
    return LambdaHandler(engine, *create_event_sources(agent, settings, engine), create_another=create_another)
