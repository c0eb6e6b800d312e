"""Everything that the environment decides, read once, when an agent starts.

An empty variable counts as unset: a template can pass a parameter on without knowing whether it was given.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
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

from agentfn.caller import ANYONE, NAME
from agentfn.errors import ConfigurationError

WEEK = 7 * 24 * 3600
TOKEN = re.compile(r"[!-~]{16,}")
HOST = re.compile(r"\s*(\*\.)?[\w-]+(\.[\w-]+)*\s*", re.ASCII)
SCOPES = re.compile(r"[!#-\[\]-~ ]*")  # RFC 6749: visible, without quotation mark and backslash, blanks between

Seconds = Annotated[float, Field(gt=0, le=900)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Size = Annotated[int, Field(ge=1)]


def variable(field: str) -> str:
    return field.upper() if field.startswith("agent_") else f"AGENTFN_{field.upper()}"


class Settings(BaseModel):
    """A field `lease_seconds` is the variable `AGENTFN_LEASE_SECONDS`; `agent_model` is `AGENT_MODEL`.

    Sizes are in bytes, or in characters where the name says so; times are in seconds.
    """

    model_config = ConfigDict(frozen=True, alias_generator=variable, populate_by_name=True, extra="ignore")

    # The model.
    agent_model: str = ""
    agent_model_api_key: SecretStr | None = None
    agent_model_api_base: str | None = None
    agent_model_secret: str | None = None  # ARN of the secret whose string is the API key
    agent_protocol: Literal["auto", "native", "json"] = "auto"  # how tools are called

    # Where things are.
    table: str
    bucket: str
    queue_url: str
    dead_letters_url: str | None = None
    public_url: str | None = None
    base_path: str = ""
    streaming: bool = False  # the front door can stream
    push: bool = True  # callers may have webhooks called

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
    link_seconds: Annotated[int, Field(ge=60, le=WEEK)] = 3600
    task_days: Annotated[int, Field(ge=1, le=3650)] = 30
    max_runs: Count = 100
    max_idle_runs: Count = 5  # runs in a row that saved nothing

    # What a caller may send.
    max_body_size: Size = 6 * 1024 * 1024
    max_files: Count = 20
    max_file_size: Size = 20 * 1024 * 1024
    max_files_size: Size = 50 * 1024 * 1024  # of one message, all together
    max_text_chars: Size = 200_000

    # The loop.
    max_steps: Count = 40
    max_tokens: Size = 10_000_000  # of one task
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
    max_argument_chars: Size = 200_000
    max_output_chars: Size = 30_000
    max_repeats: Annotated[int, Field(ge=2, le=100)] = 6

    @classmethod
    def load(cls, environment: Mapping[str, str]) -> Self:
        """Raises ConfigurationError, with one line for each variable that is missing or wrong."""
        try:
            return cls.model_validate(
                {name: text for name in cls.variables() if (text := environment.get(name, "")).strip()}
            )
        except ValidationError as error:
            raise ConfigurationError("\n".join(_complaints(error))) from None

    @classmethod
    def variables(cls) -> frozenset[str]:
        """The names of all environment variables that agentfn reads."""
        return frozenset(variable(field) for field in cls.model_fields)

    @field_validator("public_url")
    @classmethod
    def _absolute(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an absolute http(s) URL without a query")
        return url.rstrip("/")

    @field_validator("jwt_issuer", "jwt_jwks_url")
    @classmethod
    def _of_the_web(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme != "https" or not urlsplit(url).hostname):
            raise ValueError("must be an https address")
        return url

    @field_validator("fetch_hosts")
    @classmethod
    def _names_of_hosts(cls, hosts: str) -> str:
        if hosts and not all(HOST.fullmatch(name) for name in hosts.split(",")):  # an empty list would allow everything
            raise ValueError("must be names of hosts with commas between, as example.com,*.example.org")
        return hosts

    @field_validator("jwt_scopes")
    @classmethod
    def _scopes(cls, scopes: str) -> str:
        if not SCOPES.fullmatch(scopes):
            raise ValueError("must be scopes with blanks between")
        return scopes

    @field_validator("base_path")
    @classmethod
    def _rooted(cls, path: str) -> str:
        trimmed = path.strip("/")
        return f"/{trimmed}" if trimmed else ""

    @field_validator("tokens")
    @classmethod
    def _named_tokens(cls, tokens: SecretStr | None) -> SecretStr | None:
        if tokens is not None:
            read_tokens(tokens.get_secret_value())
        return tokens

    @model_validator(mode="after")
    def _time_to_work(self) -> Self:
        if self.reserve_seconds >= self.request_seconds:
            raise ValueError(
                "AGENTFN_RESERVE_SECONDS must be less than AGENTFN_REQUEST_SECONDS, or no request has any time"
            )
        return self

    @model_validator(mode="after")
    def _a_way_to_check_callers(self) -> Self:
        if self.auth == "bearer" and not (self.tokens or self.tokens_secret):
            raise ValueError(
                "AGENTFN_AUTH is bearer, which needs AGENTFN_TOKENS_SECRET (or AGENTFN_TOKENS on a laptop); "
                "AGENTFN_AUTH=none opens the agent to everyone"
            )
        if self.auth == "jwt" and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("AGENTFN_AUTH is jwt, which needs AGENTFN_JWT_ISSUER and AGENTFN_JWT_AUDIENCE")
        return self


def read_tokens(text: str) -> dict[str, str]:
    """Token -> name of its caller, from a JSON object of name -> token, or list of tokens while they are rotated.

    Raises ValueError. It quotes neither names nor tokens: they may have been swapped.
    """
    try:
        callers: Any = json.loads(text)
    except ValueError:
        callers = None
    if not isinstance(callers, dict) or not callers:
        raise ValueError('must be a JSON object of caller name -> token, as {"default": "…"}')
    owners: dict[str, str] = {}
    for number, (name, given) in enumerate(callers.items(), 1):
        if not NAME.fullmatch(name):
            raise ValueError(
                f"the name of caller {number} must be at most 64 letters, digits, and . _ @ - between them"
            )
        if name == ANYONE:
            raise ValueError(f"caller {number} has the name that everyone has where callers are not told apart")
        for token in given if isinstance(given, list) and given else [given]:
            if not isinstance(token, str) or not TOKEN.fullmatch(token):
                raise ValueError(
                    f"the token of caller {number} must be a text of at least 16 characters, none of them blank"
                )
            if owners.setdefault(token, name) != name:
                raise ValueError("two callers have the same token")
    return owners


def _complaints(error: ValidationError) -> list[str]:
    lines = []
    for complaint in error.errors(include_input=False, include_url=False):
        where = ".".join(str(part) for part in complaint["loc"])
        text = complaint["msg"].removeprefix("Value error, ")
        lines.append(f"{where}: {text[:1].lower()}{text[1:]}" if where else text)
    return lines
