"""The groups of settings. Each field names its environment variable; this is the only place of its default.

Sizes are in bytes, or in characters where the name says so; times are in seconds.
"""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from agentfn.auth.identity import parse_tokens

WEEK_SECONDS = 7 * 24 * 3600
ORIGIN_PATTERN = re.compile(r"https?://[\w.-]+(:\d{1,5})?", re.ASCII)
HOST_PATTERN = re.compile(r"\s*(\*\.)?[\w-]+(\.[\w-]+)*\s*", re.ASCII)
SCOPES_PATTERN = re.compile(r"[!#-\[\]-~ ]*")  # RFC 6749: printable ASCII but quotation mark and backslash, and spaces

Seconds = Annotated[float, Field(gt=0, le=900)]
Count = Annotated[int, Field(ge=1, le=10_000)]
PositiveInt = Annotated[int, Field(ge=1)]


class SettingsGroup(BaseModel):
    """Immutable. Fields are set by their own names in code, and by environment variables in `Settings.load`."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid", defer_build=True)


class StorageSettings(SettingsGroup):
    """The table, the bucket, and how long tasks and download links live."""

    table: str = Field(validation_alias="AGENTFN_TABLE")
    bucket: str = Field(validation_alias="AGENTFN_BUCKET")
    task_days: Annotated[int, Field(ge=1, le=3643)] = Field(30, validation_alias="AGENTFN_TASK_DAYS")
    link_seconds: Annotated[int, Field(ge=60, le=WEEK_SECONDS)] = Field(3600, validation_alias="AGENTFN_LINK_SECONDS")


class QueueSettings(SettingsGroup):
    url: str = Field(validation_alias="AGENTFN_QUEUE_URL")
    dead_letters_url: str | None = Field(None, validation_alias="AGENTFN_DEAD_LETTERS_URL")


class ModelSettings(SettingsGroup):
    """The agent's language model, and the timeout and retries of one call."""

    name: str = Field("", validation_alias="AGENT_MODEL")
    api_key: SecretStr | None = Field(None, validation_alias="AGENT_MODEL_API_KEY")
    secret_arn: str | None = Field(None, validation_alias="AGENT_MODEL_SECRET")
    api_base: str | None = Field(None, validation_alias="AGENT_MODEL_API_BASE")
    provider: str = Field("auto", validation_alias="AGENT_MODEL_PROVIDER")  # the registry of providers checks it
    tool_protocol: Literal["auto", "native", "json"] = Field("auto", validation_alias="AGENT_PROTOCOL")
    timeout_seconds: Seconds = Field(180.0, validation_alias="AGENTFN_MODEL_SECONDS")
    max_retries: Annotated[int, Field(ge=0, le=20)] = Field(4, validation_alias="AGENTFN_MODEL_RETRIES")


class RouterSettings(SettingsGroup):
    """The model that picks a skill for a message that names none. Without one, the agent's default skill is used."""

    model: str = Field("", validation_alias="ROUTER_LLM_MODEL")
    api_key: SecretStr | None = Field(None, validation_alias="ROUTER_LLM_API_KEY")
    api_base: str | None = Field(None, validation_alias="ROUTER_LLM_API_BASE")


class HttpSettings(SettingsGroup):
    """The agent's HTTP endpoint."""

    public_url: str | None = Field(None, validation_alias="AGENTFN_PUBLIC_URL")
    base_path: str = Field("", validation_alias="AGENTFN_BASE_PATH")
    streaming: bool = Field(False, validation_alias="AGENTFN_STREAMING")
    mcp: bool = Field(False, validation_alias="AGENTFN_MCP")
    cors_origins: str = Field("", validation_alias="AGENTFN_CORS_ORIGINS")
    cors_credentials: bool = Field(False, validation_alias="AGENTFN_CORS_CREDENTIALS")
    request_seconds: Seconds = Field(25.0, validation_alias="AGENTFN_REQUEST_SECONDS")
    max_body_bytes: PositiveInt = Field(6 * 1024 * 1024, validation_alias="AGENTFN_MAX_BODY_SIZE")

    @property
    def origins(self) -> list[str]:
        """The items of `cors_origins`."""
        return split_list(self.cors_origins)

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an absolute http(s) URL without a query")
        return url.rstrip("/")

    @field_validator("base_path")
    @classmethod
    def _normalize_base_path(cls, path: str) -> str:
        trimmed = path.strip("/")
        return f"/{trimmed}" if trimmed else ""

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, origins: str) -> str:
        if origins.strip() != "*" and not all(ORIGIN_PATTERN.fullmatch(origin) for origin in split_list(origins)):
            raise ValueError("must be comma-separated origins, such as https://app.example.com, or * alone")
        return origins

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if self.cors_credentials and self.cors_origins.strip() == "*":
            raise ValueError("AGENTFN_CORS_CREDENTIALS needs origins by name in AGENTFN_CORS_ORIGINS, not *")
        return self


class JwtSettings(SettingsGroup):
    """Which JSON Web Tokens are accepted. Without `jwks_url`, the issuer's discovery document names the keys' URL."""

    issuer: str | None = Field(None, validation_alias="AGENTFN_JWT_ISSUER")
    audience: str | None = Field(None, validation_alias="AGENTFN_JWT_AUDIENCE")
    claim: str = Field("sub", validation_alias="AGENTFN_JWT_CLAIM")
    jwks_url: str | None = Field(None, validation_alias="AGENTFN_JWT_JWKS_URL")
    scopes: str = Field("", validation_alias="AGENTFN_JWT_SCOPES")

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _check_https_url(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme != "https" or not urlsplit(url).hostname):
            raise ValueError("must be an https URL")
        return url

    @field_validator("scopes")
    @classmethod
    def _check_scopes(cls, scopes: str) -> str:
        if not SCOPES_PATTERN.fullmatch(scopes):
            raise ValueError("must be space-separated scopes")
        return scopes


class AuthSettings(SettingsGroup):
    """How callers are authenticated. `tokens` is a JSON object of caller name to token."""

    mode: Literal["bearer", "iam", "jwt", "none"] = Field("bearer", validation_alias="AGENTFN_AUTH")
    tokens: SecretStr | None = Field(None, validation_alias="AGENTFN_TOKENS")
    tokens_secret_arn: str | None = Field(None, validation_alias="AGENTFN_TOKENS_SECRET")
    iam_sessions: bool = Field(False, validation_alias="AGENTFN_IAM_SESSIONS")
    jwt: JwtSettings

    @field_validator("tokens")
    @classmethod
    def _check_tokens(cls, tokens: SecretStr | None) -> SecretStr | None:
        if tokens is not None:
            parse_tokens(tokens.get_secret_value())
        return tokens

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.mode == "bearer" and not (self.tokens or self.tokens_secret_arn):
            raise ValueError(
                "AGENTFN_AUTH is bearer, which needs AGENTFN_TOKENS_SECRET (or AGENTFN_TOKENS on a laptop); "
                "AGENTFN_AUTH=none opens the agent to everyone"
            )
        if self.mode == "jwt" and not (self.jwt.issuer and self.jwt.audience):
            raise ValueError("AGENTFN_AUTH is jwt, which needs AGENTFN_JWT_ISSUER and AGENTFN_JWT_AUDIENCE")
        return self


class SigningSettings(SettingsGroup):
    """The private key (PEM) that signs the card and, with `push.signed`, push notifications."""

    key: SecretStr | None = Field(None, validation_alias="AGENTFN_SIGNING_KEY")
    secret_arn: str | None = Field(None, validation_alias="AGENTFN_SIGNING_SECRET")


class PushSettings(SettingsGroup):
    """Push notifications to webhooks."""

    enabled: bool = Field(True, validation_alias="AGENTFN_PUSH")
    signed: bool = Field(False, validation_alias="AGENTFN_PUSH_SIGNED")


class FetchSettings(SettingsGroup):
    """Requests to URLs that a caller or the model chose, webhooks included. Empty `hosts` allows every public host."""

    timeout_seconds: Seconds = Field(20.0, validation_alias="AGENTFN_FETCH_SECONDS")
    hosts: str = Field("", validation_alias="AGENTFN_FETCH_HOSTS")
    loopback: bool = Field(False, validation_alias="AGENTFN_FETCH_LOOPBACK")

    @field_validator("hosts")
    @classmethod
    def _check_host_names(cls, hosts: str) -> str:
        if hosts and not all(HOST_PATTERN.fullmatch(name) for name in hosts.split(",")):  # "" would allow every host
            raise ValueError("must be comma-separated host names, such as example.com,*.example.org")
        return hosts


class MessageSettings(SettingsGroup):
    """Limits of one message and its files."""

    max_text_chars: PositiveInt = Field(200_000, validation_alias="AGENTFN_MAX_TEXT_CHARS")
    max_files: Count = Field(20, validation_alias="AGENTFN_MAX_FILES")
    max_file_bytes: PositiveInt = Field(20 * 1024 * 1024, validation_alias="AGENTFN_MAX_FILE_SIZE")
    max_total_file_bytes: PositiveInt = Field(50 * 1024 * 1024, validation_alias="AGENTFN_MAX_FILES_SIZE")
    max_upload_bytes: Annotated[int, Field(ge=1, le=5 * 1024**3)] = Field(
        100 * 1024 * 1024, validation_alias="AGENTFN_MAX_UPLOAD_SIZE"
    )


class RunSettings(SettingsGroup):
    """The runs of one task. `memory_chars` limits what a new task is told of earlier tasks in its context."""

    reserve_seconds: Seconds = Field(2.0, validation_alias="AGENTFN_RESERVE_SECONDS")
    lease_seconds: Annotated[float, Field(ge=5, le=900)] = Field(90.0, validation_alias="AGENTFN_LEASE_SECONDS")
    max_runs: Count = Field(100, validation_alias="AGENTFN_MAX_RUNS")
    max_idle_runs: Count = Field(5, validation_alias="AGENTFN_MAX_IDLE_RUNS")
    memory_chars: Annotated[int, Field(ge=0, le=1_000_000)] = Field(20_000, validation_alias="AGENTFN_MEMORY_CHARS")


class LoopSettings(SettingsGroup):
    """Limits of the agent's loop. `max_tokens` and `max_cost` (US dollars) are for one task, all its loops together."""

    max_steps: Count = Field(40, validation_alias="AGENTFN_MAX_STEPS")
    max_tokens: PositiveInt = Field(10_000_000, validation_alias="AGENTFN_MAX_TOKENS")
    max_cost: Annotated[float, Field(gt=0, le=1e6)] = Field(10.0, validation_alias="AGENTFN_MAX_COST")
    max_history_chars: Annotated[int, Field(ge=4_000)] = Field(400_000, validation_alias="AGENTFN_MAX_HISTORY_CHARS")
    max_history_tokens: Annotated[int, Field(ge=1_000)] | None = Field(
        None, validation_alias="AGENTFN_MAX_HISTORY_TOKENS"
    )
    max_retry_prompts: Annotated[int, Field(ge=0, le=10)] = Field(2, validation_alias="AGENTFN_MAX_RETRY_PROMPTS")
    max_repeats: Annotated[int, Field(ge=2, le=100)] = Field(6, validation_alias="AGENTFN_MAX_REPEATS")
    max_parallel_loops: Count = Field(4, validation_alias="AGENTFN_MAX_PARALLEL_LOOPS")


class ToolSettings(SettingsGroup):
    """Limits of tool calls. `wait_seconds` is the longest wait for a free slot of `max_per_process`."""

    timeout_seconds: Seconds = Field(120.0, validation_alias="AGENTFN_TOOL_SECONDS")
    wait_seconds: Seconds = Field(30.0, validation_alias="AGENTFN_TOOL_WAIT_SECONDS")
    max_argument_chars: PositiveInt = Field(200_000, validation_alias="AGENTFN_MAX_ARGUMENT_CHARS")
    max_output_chars: PositiveInt = Field(30_000, validation_alias="AGENTFN_MAX_OUTPUT_CHARS")
    max_parallel: Count = Field(8, validation_alias="AGENTFN_MAX_PARALLEL_TOOLS")
    max_per_process: Count = Field(16, validation_alias="AGENTFN_MAX_PROCESS_TOOLS")


def default_of(group: type[SettingsGroup], field: str) -> Any:
    """A setting's default, for code that runs without settings."""
    return group.model_fields[field].default


def split_list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
