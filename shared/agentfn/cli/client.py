"""The A2A client of the command line, and its errors as messages for the user."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, AgentCardResolutionError
from a2a.types import AgentCard
from a2a.utils.errors import A2AError, InternalError

from agentfn.cli.terminal import CliError, strip_control_chars

REQUEST_TIMEOUT = httpx.Timeout(40.0, connect=10.0)  # API Gateway answers within 29 s


@asynccontextmanager
async def connect(url: str, token: str) -> AsyncIterator[tuple[Client, AgentCard]]:
    """A client of the agent at the URL, and the agent's card. Raises CliError if there is none."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise CliError(f"{url} is not an agent's URL, which begins with http:// or https://", 2)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(headers=headers, timeout=REQUEST_TIMEOUT, trust_env=not is_loopback(url)) as http:
        with map_client_errors(url):
            card = await A2ACardResolver(http, url).get_agent_card()
            try:
                client = ClientFactory(ClientConfig(streaming=False, polling=True, httpx_client=http)).create(card)
            except ValueError:
                raise CliError(f"the agent at {url} does not support JSON-RPC, according to its card") from None
        yield client, card


@contextmanager
def map_client_errors(url: str) -> Iterator[None]:
    """Converts the client's errors inside the block to CliErrors."""
    try:
        yield
    except AgentCardResolutionError as error:
        raise CliError(_card_error_text(url, error)) from error
    except A2AClientError as error:
        raise CliError(_request_error_text(url, error)) from error
    except InternalError as error:
        raise CliError(f"the agent reported an internal error: {strip_control_chars(str(error))}") from error
    except A2AError as error:
        raise CliError(f"the agent rejected the request: {strip_control_chars(str(error))}") from error


def is_retryable(error: A2AClientError) -> bool:
    """Whether a retry may help: there was no response, or a server error."""
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPStatusError):
        return cause.response.status_code >= 500 or cause.response.status_code == 429
    return isinstance(cause, httpx.RequestError)


def is_loopback(url: str) -> bool:
    """Whether the URL is on this machine, where no proxy is used."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _card_error_text(url: str, error: AgentCardResolutionError) -> str:
    if isinstance(error.__cause__, httpx.RequestError):
        return unreachable_text(url, error.__cause__)
    if error.status_code in (401, 403):
        return unauthorized_text(error.status_code)
    if error.status_code:
        return f"{url} has no agent card: HTTP {error.status_code}; is it the agent's own URL, stage included?"
    return f"the agent card at {url} is invalid: {strip_control_chars(str(error.__cause__ or error))}"


def _request_error_text(url: str, error: A2AClientError) -> str:
    cause = error.__cause__
    if isinstance(cause, httpx.RequestError):
        return unreachable_text(url, cause)
    if isinstance(cause, httpx.HTTPStatusError):
        status = cause.response.status_code
        if status in (401, 403):
            return unauthorized_text(status)
        if status == 413:
            return "the message is too large: a request takes 6 MB; long text can go as a file"
        return f"the agent answered HTTP {status}: {strip_control_chars(cause.response.text[:300])}"
    return f"the agent's response is invalid: {strip_control_chars(str(error))}"


def unreachable_text(url: str, cause: httpx.RequestError) -> str:
    return f"no agent responds at {url} ({strip_control_chars(str(cause)) or type(cause).__name__}); is it running?"


def unauthorized_text(status: int) -> str:
    return f"the agent rejected the token (HTTP {status}); give the right one with --token or AGENTFN_TOKEN"
