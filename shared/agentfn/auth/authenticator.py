"""How callers are told apart: what every way of doing it has in common, and the way that does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentfn.auth.identity import ANONYMOUS_ID, Principal
from agentfn.errors import AgentfnError

REALM = 'realm="agentfn"'
EMPTY_CONTEXT: Mapping[str, Any] = {}


@dataclass(frozen=True)
class AuthScheme:
    """How callers prove who they are, for the card and for those who did not.

    `challenge` is the value of WWW-Authenticate, `advice` what a person is told. `discovery` is the address of an
    OpenID Connect provider's document, and `scopes` are what a token must carry.
    """

    name: str
    challenge: str = ""
    instructions: str = ""
    discovery_url: str = ""
    scopes: tuple[str, ...] = ()


class AuthenticationError(AgentfnError):
    """A proof that does not hold, with the HTTP `status` and the value of WWW-Authenticate that say so."""

    def __init__(self, text: str, challenge: str, status: int = 401) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.status = status


class Authenticator(Protocol):
    """Who comes in. Identities are those that API Gateway, or a check of our own, established."""

    @property
    def scheme(self) -> AuthScheme: ...

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """The caller; None for one who gives no proof, or none that is known. Names of headers are in lower case;
        `context` is the event's `requestContext`, which API Gateway writes and no client can.

        Raises Refused where more can be said of the proof; other errors where callers cannot be checked.
        """


class AnonymousAuthenticator:
    """AGENTFN_AUTH=none."""

    scheme = AuthScheme("none")

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        return Principal(ANONYMOUS_ID)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """What comes after `Bearer` in the header Authorization."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
