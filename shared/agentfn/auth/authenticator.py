"""The interface of authenticators, and the authenticator for agents that everyone may call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentfn.auth.identity import ANONYMOUS_ID, Principal
from agentfn.errors import AgentfnError

REALM = 'realm="agentfn"'
EMPTY_CONTEXT: Mapping[str, Any] = {}


@dataclass(frozen=True)
class AuthScheme:
    """How callers authenticate, for the agent card and for answers with status 401.

    `challenge` is the value of WWW-Authenticate, `instructions` a sentence for people. `discovery_url` is the URL of an
    OpenID Connect provider's discovery document. A token must have all `scopes`.
    """

    name: str
    challenge: str = ""
    instructions: str = ""
    discovery_url: str = ""
    scopes: tuple[str, ...] = ()


class AuthenticationError(AgentfnError):
    """Credentials are invalid. Carries the HTTP `status` and the value of WWW-Authenticate to answer with."""

    def __init__(self, text: str, challenge: str, status: int = 401) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.status = status


class Authenticator(Protocol):
    """Finds out who sent a request."""

    @property
    def scheme(self) -> AuthScheme: ...

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """Returns the caller, or None if the request has no credentials or unknown ones.

        Header names are in lower case. `request_context` is the event's `requestContext`: API Gateway writes it, and
        clients cannot. Raises AuthenticationError for invalid credentials if there is a reason to give, and other
        AgentfnErrors if callers cannot be checked at all.
        """


class AnonymousAuthenticator:
    """AGENTFN_AUTH=none: everyone may call, as the same principal."""

    scheme = AuthScheme("none")

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        return Principal(ANONYMOUS_ID)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """Returns the bearer token of the Authorization header, or None."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
