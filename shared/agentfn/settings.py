"""Everything that the environment decides, read once, when an agent starts.

An empty variable counts as unset: a template can pass a parameter on without knowing whether it was given.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from agentfn.auth.identity import parse_tokens
from agentfn.errors import ConfigurationError

WEEK_SECONDS = 7 * 24 * 3600
ORIGIN_PATTERN = re.compile(r"https?://[\w.-]+(:\d{1,5})?", re.ASCII)
HOST_PATTERN = re.compile(r"\s*(\*\.)?[\w-]+(\.[\w-]+)*\s*", re.ASCII)
SCOPES_PATTERN = re.compile(r"[!#-\[\]-~ ]*")  # RFC 6749: visible, without quotation mark and backslash, blanks between

Seconds = Annotated[float, Field(gt=0, le=900)]
Count = Annotated[int, Field(ge=1, le=10_000)]
PositiveInt = Annotated[int, Field(ge=1)]


def variable_name(field: str) -> str:
    return field.upper() if field.startswith(("agent_", "router_")) else f"AGENTFN_{field.upper()}"


class Settings(BaseModel):
    """A field `lease_seconds` is the variable `AGENTFN_LEASE_SECONDS`; `agent_model` is `AGENT_MODEL`.

    Sizes are in bytes, or in characters where the name says so; times are in seconds.
    """

    model_config = ConfigDict(frozen=True, alias_generator=variable_name, populate_by_name=True, extra="ignore")

    # The model.
    agent_model: str = ""
    agent_model_api_key: SecretStr | None = None
    agent_model_api_base: str | None = None
    agent_model_secret: str | None = None  # ARN of the secret whose string is the API key
    agent_model_door: Literal["auto", "openai", "bedrock", "litellm"] = "auto"  # which client asks it
    agent_protocol: Literal["auto", "native", "json"] = "auto"  # how tools are called

    # The model that picks a skill for a message that names none. Without one, the agent's default does it.
    router_llm_model: str = ""
    router_llm_api_key: SecretStr | None = None
    router_llm_api_base: str | None = None

    # Where things are.
    table: str
    bucket: str
    queue_url: str
    dead_letters_url: str | None = None
    public_url: str | None = None
    base_path: str = ""
    streaming: bool = False  # the front door can stream
    push: bool = True  # callers may have webhooks called
    mcp: bool = False  # the tools are an MCP server, too, at /mcp
    cors_origins: str = ""  # of web pages that may call, separated by commas; `*` for all of them
    cors_credentials: bool = False  # those pages may send cookies and the like; not with `*`
    signing_key: SecretStr | None = None  # private key, PEM: signs the card, and push notifications where asked to
    signing_secret: str | None = None  # ARN of the secret that holds it
    push_signed: bool = False

    # What may be fetched, and whom webhooks may reach.
    fetch_seconds: Seconds = 20.0  # one request, or all files of one message
    fetch_hosts: str = ""  # names, separated by commas; `*.example.com` for all below; empty allows every public one
    fetch_loopback: bool = False  # for tests: no template can set it

    # Who may call.
    auth: Literal["bearer", "iam", "jwt", "none"] = "bearer"
    tokens: SecretStr | None = None  # JSON object: name of the caller -> token
    tokens_secret: str | None = None  # ARN of the secret that holds that object
    iam_sessions: bool = False  # each session name of a role is a caller of its own
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_claim: str = "sub"  # whose text is the caller
    jwt_jwks_url: str | None = None  # without it, the issuer's discovery document says where its keys are
    jwt_scopes: str = ""  # that every token must carry, with blanks between

    # Time.
    request_seconds: Seconds = 29.0
    reserve_seconds: Seconds = 2.0
    lease_seconds: Annotated[float, Field(ge=5, le=900)] = 90.0
    link_seconds: Annotated[int, Field(ge=60, le=WEEK_SECONDS)] = 3600
    task_days: Annotated[int, Field(ge=1, le=3650)] = 30
    max_runs: Count = 100
    max_idle_runs: Count = 5  # runs in a row that saved nothing

    # What a caller may send.
    max_body_size: PositiveInt = 6 * 1024 * 1024
    max_files: Count = 20
    max_file_size: PositiveInt = 20 * 1024 * 1024
    max_files_size: PositiveInt = 50 * 1024 * 1024  # of one message, all together
    max_text_chars: PositiveInt = 200_000
    max_upload_size: Annotated[int, Field(ge=1, le=5 * 1024**3)] = (
        100 * 1024 * 1024
    )  # past the request, into the bucket

    # What a new task is told of earlier ones in its context, in characters; 0 for nothing.
    memory_chars: Annotated[int, Field(ge=0, le=1_000_000)] = 20_000

    # The loop.
    max_steps: Count = 40
    max_tokens: PositiveInt = 10_000_000  # of one task
    max_cost: Annotated[float, Field(gt=0, le=1e6)] = 10.0  # of one task, in US dollars
    max_history_chars: Annotated[int, Field(ge=4_000)] = 400_000
    max_history_tokens: Annotated[int, Field(ge=1_000)] | None = None
    max_nudges: Annotated[int, Field(ge=0, le=10)] = 2
    max_parallel_loops: Count = 4
    max_parallel_tools: Count = 8
    max_process_tools: Count = 16
    tool_seconds: Seconds = 120.0
    tool_wait_seconds: Seconds = 30.0
    model_seconds: Seconds = 180.0
    model_retries: Annotated[int, Field(ge=0, le=20)] = 4
    max_argument_chars: PositiveInt = 200_000
    max_output_chars: PositiveInt = 30_000
    max_repeats: Annotated[int, Field(ge=2, le=100)] = 6

    @classmethod
    def load(cls, environment: Mapping[str, str]) -> Self:
        """Raises ConfigurationError, with one line for each variable that is missing or wrong."""
        try:
            return cls.model_validate(
                {name: text for name in cls.variable_names() if (text := environment.get(name, "")).strip()}
            )
        except ValidationError as error:
            raise ConfigurationError("\n".join(_error_lines(error))) from None

    @property
    def origins(self) -> list[str]:
        """Of `cors_origins`."""
        return _split_list(self.cors_origins)

    @classmethod
    def variable_names(cls) -> frozenset[str]:
        """The names of all environment variables that agentfn reads."""
        return frozenset(variable_name(field) for field in cls.model_fields)

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an absolute http(s) URL without a query")
        return url.rstrip("/")

    @field_validator("jwt_issuer", "jwt_jwks_url")
    @classmethod
    def _check_https_url(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme != "https" or not urlsplit(url).hostname):
            raise ValueError("must be an https address")
        return url

    @field_validator("fetch_hosts")
    @classmethod
    def _check_host_names(cls, hosts: str) -> str:
        if hosts and not all(
            HOST_PATTERN.fullmatch(name) for name in hosts.split(",")
        ):  # an empty list would allow everything
            raise ValueError("must be names of hosts with commas between, as example.com,*.example.org")
        return hosts

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, origins: str) -> str:
        if origins.strip() != "*" and not all(ORIGIN_PATTERN.fullmatch(origin) for origin in _split_list(origins)):
            raise ValueError("must be origins with commas between, as https://app.example.com, or * alone")
        return origins

    @field_validator("jwt_scopes")
    @classmethod
    def _check_scopes(cls, scopes: str) -> str:
        if not SCOPES_PATTERN.fullmatch(scopes):
            raise ValueError("must be scopes with blanks between")
        return scopes

    @field_validator("base_path")
    @classmethod
    def _normalize_base_path(cls, path: str) -> str:
        trimmed = path.strip("/")
        return f"/{trimmed}" if trimmed else ""

    @field_validator("tokens")
    @classmethod
    def _check_tokens(cls, tokens: SecretStr | None) -> SecretStr | None:
        if tokens is not None:
            parse_tokens(tokens.get_secret_value())
        return tokens

    @model_validator(mode="after")
    def _check_reserve(self) -> Self:
        if self.reserve_seconds >= self.request_seconds:
            raise ValueError(
                "AGENTFN_RESERVE_SECONDS must be less than AGENTFN_REQUEST_SECONDS, or no request has any time"
            )
        return self

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.cors_credentials and self.cors_origins.strip() == "*":
            raise ValueError("AGENTFN_CORS_CREDENTIALS needs origins by name in AGENTFN_CORS_ORIGINS, not *")
        if self.push_signed and not (self.signing_key or self.signing_secret):
            raise ValueError("AGENTFN_PUSH_SIGNED needs AGENTFN_SIGNING_SECRET (or AGENTFN_SIGNING_KEY on a laptop)")
        return self

    @model_validator(mode="after")
    def _check_auth(self) -> Self:
        if self.auth == "bearer" and not (self.tokens or self.tokens_secret):
            raise ValueError(
                "AGENTFN_AUTH is bearer, which needs AGENTFN_TOKENS_SECRET (or AGENTFN_TOKENS on a laptop); "
                "AGENTFN_AUTH=none opens the agent to everyone"
            )
        if self.auth == "jwt" and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("AGENTFN_AUTH is jwt, which needs AGENTFN_JWT_ISSUER and AGENTFN_JWT_AUDIENCE")
        return self


def _split_list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _error_lines(error: ValidationError) -> list[str]:
    lines = []
    for complaint in error.errors(include_input=False, include_url=False):
        where = ".".join(str(part) for part in complaint["loc"])
        text = complaint["msg"].removeprefix("Value error, ")
        lines.append(f"{where}: {text[:1].lower()}{text[1:]}" if where else text)
    return lines
