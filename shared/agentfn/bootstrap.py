"""How the parts are put together. boto3 is imported, and each client made, when it is first needed."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from agentfn.a2a.card.signing_keys import SigningKeys
from agentfn.agent import Agent
from agentfn.auth.authenticator import AnonymousAuthenticator, Authenticator
from agentfn.auth.bearer import BearerAuthenticator
from agentfn.auth.iam import IamAuthenticator
from agentfn.aws_errors import map_aws_errors
from agentfn.errors import ConfigurationError
from agentfn.files import Bucket
from agentfn.loop import LoopLimits
from agentfn.loop.loop_limits import LIFECYCLE_TOOL_NAMES, RetryPolicy
from agentfn.models.lazy_model import LazyModel
from agentfn.models.registry import create_lazy_model
from agentfn.runs.engine import Engine
from agentfn.runs.loop_engine import LoopEngine
from agentfn.runs.sweep import Sweep
from agentfn.runs.work_queue import DeadLetterQueue, WorkQueue
from agentfn.settings import Settings
from agentfn.store import Table, TaskStore
from agentfn.store.payload_codec import PayloadCodec
from agentfn.telemetry import logger
from agentfn.tools import ToolRegistry
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from agentfn.auth.jwks import FetchUrl
    from agentfn.auth.jwt import JwtAuthenticator
    from agentfn.mcp import McpServer

MISSING_MODEL_TEXT = (
    "no model: set AGENT_MODEL, for example AGENT_MODEL=anthropic/claude-sonnet-4-5 with AGENT_MODEL_API_KEY, or "
    "AGENT_MODEL=bedrock/<model id> with the function's role"
)


class Storage(NamedTuple):
    """The AWS resources of one agent."""

    task_store: TaskStore
    bucket: Bucket
    queue: WorkQueue


def create_storage(agent: Agent, settings: Settings) -> Storage:
    bucket = Bucket(_s3_client, settings.storage.bucket, settings.storage.link_seconds)
    table = Table(lambda: aws_client("dynamodb"), settings.storage.table)
    queue = WorkQueue(lambda: aws_client("sqs"), settings.queue.url)
    days = settings.storage.task_days
    tasks = TaskStore(table, PayloadCodec(bucket), agent.name, days, enqueue_push=queue.enqueue_push)
    return Storage(tasks, bucket, queue)


def create_loop_engine(agent: Agent, settings: Settings, limiter: ConcurrencyLimiter) -> LoopEngine:
    """Raises ConfigurationError if no model is named, or a tool has the name of a lifecycle tool."""
    if LIFECYCLE_TOOL_NAMES & {tool.name for tool in agent.registry}:
        from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS

        ToolRegistry([*LIFECYCLE_TOOLS, *agent.registry])  # raises the error
    return LoopEngine(
        agent=agent,
        settings=settings,
        get_model=create_model(agent, settings),
        limits=loop_limits(settings),
        limiter=limiter,
        get_router_model=create_router_model(agent, settings),
    )


def create_sweep(storage: Storage, settings: Settings) -> Sweep:
    url = settings.queue.dead_letters_url
    return Sweep(storage.task_store, storage.queue, DeadLetterQueue(lambda: aws_client("sqs"), url) if url else None)


def create_model(agent: Agent, settings: Settings) -> LazyModel:
    """The model of AGENT_MODEL: one of the agent's own, else the one of a provider.

    Raises ConfigurationError where no provider serves a model of that name.
    """
    name, base_url = settings.model.name, settings.model.api_base
    if not name:
        raise ConfigurationError(MISSING_MODEL_TEXT)
    if name in agent.models:
        logger.info("model %s of the agent's own", name)
        return LazyModel(agent.models[name])
    if "/" not in name and not base_url and settings.model.provider == "auto":
        own = ", ".join(agent.models) or "none of its own"
        logger.warning("AGENT_MODEL=%s names no provider; the agent has %s, and litellm may guess", name, own)
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


def create_authenticator(agent: Agent, settings: Settings, fetch: "FetchUrl | None" = None) -> Authenticator:
    """Raises ConfigurationError where the packages for AGENTFN_AUTH=jwt are missing. `fetch` gets the issuer's keys."""
    match settings.auth.mode:
        case "none":
            logger.warning("AGENTFN_AUTH=none: agent %s answers everyone", agent.name)
            return AnonymousAuthenticator()
        case "iam":
            return IamAuthenticator(include_sessions=settings.auth.iam_sessions)
        case "jwt":
            return _create_jwt_authenticator(settings, fetch)
        case "bearer":
            if settings.auth.tokens is not None:
                return BearerAuthenticator(settings.auth.tokens.get_secret_value)
            return BearerAuthenticator(functools.partial(_read_secret, settings.auth.tokens_secret_arn or ""))


def _create_jwt_authenticator(settings: Settings, fetch: "FetchUrl | None") -> "JwtAuthenticator":
    from agentfn.auth.jwks import JwksClient, discovery_document_url, fetch_https
    from agentfn.auth.jwt import JwtAuthenticator, JwtRequirements

    jwt = settings.auth.jwt
    issuer, url = jwt.issuer or "", jwt.jwks_url
    terms = JwtRequirements(issuer, jwt.audience or "", jwt.claim, tuple(jwt.scopes.split()))
    return JwtAuthenticator(
        terms, JwksClient(issuer, url, fetch or fetch_https), "" if url else discovery_document_url(issuer)
    )


def create_signing_keys(settings: Settings) -> SigningKeys | None:
    """What the card is signed with. Raises ConfigurationError for a key that is of no use, or without the packages."""
    if settings.signing.key is not None:
        ring = SigningKeys(settings.signing.key.get_secret_value, "AGENTFN_SIGNING_KEY")
        ring.load()
        return ring
    if settings.signing.secret_arn:
        return SigningKeys(functools.partial(_read_secret, settings.signing.secret_arn), "AGENTFN_SIGNING_SECRET")
    return None


def create_mcp_server(agent: Agent, settings: Settings, bucket: Bucket, engine: Engine) -> "McpServer | None":
    """The MCP server, if it is enabled. Raises ConfigurationError if its packages are missing."""
    if not settings.http.mcp:
        return None
    if not isinstance(engine, LoopEngine):
        logger.warning("AGENTFN_MCP is ignored: agent %s has an executor, which does not use tools", agent.name)
        return None
    from agentfn.mcp import McpServer

    return McpServer(agent, settings, bucket, engine.limits.tools, engine.limiter)


def loop_limits(settings: Settings) -> LoopLimits:
    tools = ToolLimits(
        timeout_seconds=settings.tools.timeout_seconds,
        wait_seconds=settings.tools.wait_seconds,
        max_argument_chars=settings.tools.max_argument_chars,
        max_output_chars=settings.tools.max_output_chars,
        max_parallel_calls=settings.tools.max_parallel,
    )
    patience = RetryPolicy(settings.model.timeout_seconds, settings.model.max_retries)
    return LoopLimits(
        max_steps=settings.loop.max_steps,
        max_total_tokens=settings.loop.max_tokens,
        max_cost=settings.loop.max_cost,
        max_history_chars=settings.loop.max_history_chars,
        max_history_tokens=settings.loop.max_history_tokens,
        max_repeats=settings.loop.max_repeats,
        max_retry_prompts=settings.loop.max_retry_prompts,
        retry_policy=patience,
        tools=tools,
    )


@functools.cache
def aws_client(service: str) -> Any:
    """The process's one client of an AWS service. Timeouts are short: the services are next door.

    `client.cache_clear()` has all of them made anew.
    """
    import boto3
    from botocore.config import Config

    retries: Any = {"mode": "standard", "total_max_attempts": 4}
    config = Config(connect_timeout=3, read_timeout=10, retries=retries, tcp_keepalive=True)
    if service == "s3":
        # SigV4 on a regional host: boto3 by itself still signs links the old way in some regions.
        config = config.merge(Config(signature_version="s3v4", s3={"addressing_style": "virtual"}, read_timeout=60))
    return boto3.client(service, config=config)  # type: ignore[call-overload]


def _s3_client() -> "S3Client":
    return aws_client("s3")  # type: ignore[no-any-return]


def _model_api_key(settings: Settings) -> Callable[[], str | None]:
    if settings.model.api_key is not None:
        return settings.model.api_key.get_secret_value
    if settings.model.secret_arn:
        return functools.cache(functools.partial(_read_secret, settings.model.secret_arn))
    return lambda: None


def _read_secret(arn: str) -> str:
    with map_aws_errors():
        return str(aws_client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"])
