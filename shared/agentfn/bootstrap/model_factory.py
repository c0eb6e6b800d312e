"""The agent's models, as AGENT_MODEL and ROUTER_LLM_MODEL name them."""

import functools
from collections.abc import Callable

from agentfn.agent import Agent
from agentfn.aws_clients import read_secret
from agentfn.errors import ConfigurationError
from agentfn.models.lazy_model import LazyModel
from agentfn.models.registry import create_lazy_model
from agentfn.settings import Settings
from agentfn.telemetry import logger

MISSING_MODEL_TEXT = (
    "no model: set AGENT_MODEL, for example AGENT_MODEL=anthropic/claude-sonnet-4-5 with AGENT_MODEL_API_KEY, or "
    "AGENT_MODEL=bedrock/<model id> with the function's role"
)


def create_model(agent: Agent, settings: Settings) -> LazyModel:
    """The model of AGENT_MODEL: one of the agent's own, else the one of a provider.

    Raises ConfigurationError where no provider serves a model of that name.
    """
    name, base_url = settings.model.name, settings.model.api_base
    if not name:
        raise ConfigurationError(MISSING_MODEL_TEXT)
    if name in agent.models:
        logger.info("using the agent's own model %s", name)
        return LazyModel(agent.models[name])
    if "/" not in name and not base_url and settings.model.provider == "auto":
        own = ", ".join(agent.models) or "none"
        logger.warning("AGENT_MODEL=%s has no provider and is not an agent's model (%s); litellm may guess", name, own)
    provider, api_key = settings.model.provider, _model_api_key(settings)
    return create_lazy_model(name, provider=provider, api_key=api_key, base_url=base_url)


def create_router_model(agent: Agent, settings: Settings) -> LazyModel | None:
    """The model that chooses among the agent's skills, None where there is nothing to choose.

    It is one of the agent's own models, else one of a provider; without its own API key it uses the agent's model's.
    """
    name = settings.router.model
    if not name or len(agent.skills) < 2:
        return None
    if name in agent.models:
        return LazyModel(agent.models[name])
    own = settings.router.api_key
    key = own.get_secret_value if own else _model_api_key(settings)
    return create_lazy_model(name, api_key=key, base_url=settings.router.api_base)


def _model_api_key(settings: Settings) -> Callable[[], str | None]:
    if settings.model.api_key is not None:
        return settings.model.api_key.get_secret_value
    if settings.model.secret_arn:
        return functools.cache(functools.partial(read_secret, settings.model.secret_arn))
    return lambda: None
