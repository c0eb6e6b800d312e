"""Talking to an agent over A2A with the official client, and what its errors mean to whoever typed the command."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, AgentCardResolutionError
from a2a.types import AgentCard
from a2a.utils.errors import A2AError, InternalError

from agentfn.cli.terminal import Stop, harmless

TIMEOUT = httpx.Timeout(40.0, connect=10.0)  # API Gateway answers within 29 s


@asynccontextmanager
async def talking(url: str, token: str) -> AsyncIterator[tuple[Client, AgentCard]]:
    """The agent at the URL, and its card. Raises Stop where there is none."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise Stop(f"{url} is no URL of an agent; it begins with http:// or https://", 2)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=not is_near(url)) as http:
        with explained(url):
            card = await A2ACardResolver(http, url).get_agent_card()
            try:
                client = ClientFactory(ClientConfig(streaming=False, polling=True, httpx_client=http)).create(card)
            except ValueError:
                raise Stop(f"the agent at {url} speaks no JSON-RPC, by its card") from None
        yield client, card


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Inside, the client's errors become Stops."""
    try:
        yield
    except AgentCardResolutionError as error:
        raise Stop(_no_card(url, error)) from error
    except A2AClientError as error:
        raise Stop(_no_answer(url, error)) from error
    except InternalError as error:
        raise Stop(f"the agent has an error of its own: {harmless(str(error))}") from error
    except A2AError as error:
        raise Stop(f"the agent refused: {harmless(str(error))}") from error


def is_passing(error: A2AClientError) -> bool:
    """Whether asking again may help: nothing was heard, or the server was at fault."""
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPStatusError):
        return cause.response.status_code >= 500 or cause.response.status_code == 429
    return isinstance(cause, httpx.RequestError)


def is_near(url: str) -> bool:
    """On this machine, where no proxy leads."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _no_card(url: str, error: AgentCardResolutionError) -> str:
    if isinstance(error.__cause__, httpx.RequestError):
        return unreachable(url, error.__cause__)
    if error.status_code in (401, 403):
        return no_entry(error.status_code)
    if error.status_code:
        return f"{url} has no agent card: HTTP {error.status_code}; is it the agent's own URL, stage included?"
    return f"what {url} has for a card is not one: {harmless(str(error.__cause__ or error))}"


def _no_answer(url: str, error: A2AClientError) -> str:
    cause = error.__cause__
    if isinstance(cause, httpx.RequestError):
        return unreachable(url, cause)
    if isinstance(cause, httpx.HTTPStatusError):
        status = cause.response.status_code
        if status in (401, 403):
            return no_entry(status)
        if status == 413:
            return "the message is too large: a request takes 6 MB; long text can go as a file"
        return f"the agent answered HTTP {status}: {harmless(cause.response.text[:300])}"
    return f"the agent's answer makes no sense: {harmless(str(error))}"


def unreachable(url: str, cause: httpx.RequestError) -> str:
    return f"no agent answers at {url} ({harmless(str(cause)) or type(cause).__name__}); does it run?"


def no_entry(status: int) -> str:
    return f"the agent did not take the token (HTTP {status}); give the right one with --token or AGENTFN_TOKEN"
