"""How callers are told apart: what every way of doing it has in common, and the way that does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentfn.auth.identity import ANYONE, Caller
from agentfn.errors import AgentfnError

REALM = 'realm="agentfn"'
NOWHERE: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Scheme:
    """How callers prove who they are, for the card and for those who did not.

    `challenge` is the value of WWW-Authenticate, `advice` what a person is told. `discovery` is the address of an
    OpenID Connect provider's document, and `scopes` are what a token must carry.
    """

    name: str
    challenge: str = ""
    advice: str = ""
    discovery: str = ""
    scopes: tuple[str, ...] = ()


class Refused(AgentfnError):  # noqa: N818 - it reads as a state, like the HTTP status it stands for
    """A proof that does not hold, with the HTTP `status` and the value of WWW-Authenticate that say so."""

    def __init__(self, text: str, challenge: str, status: int = 401) -> None:
        super().__init__(text)
        self.challenge = challenge
        self.status = status


class Door(Protocol):
    """Who comes in. Identities are those that API Gateway, or a check of our own, established."""

    @property
    def scheme(self) -> Scheme: ...

    async def identify(self, headers: Mapping[str, str], context: Mapping[str, Any] = NOWHERE) -> Caller | None:
        """The caller; None for one who gives no proof, or none that is known. Names of headers are in lower case;
        `context` is the event's `requestContext`, which API Gateway writes and no client can.

        Raises Refused where more can be said of the proof; other errors where callers cannot be checked.
        """


class OpenDoor:
    """AGENTFN_AUTH=none."""

    scheme = Scheme("none")

    async def identify(self, headers: Mapping[str, str], context: Mapping[str, Any] = NOWHERE) -> Caller | None:
        return Caller(ANYONE)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """What comes after `Bearer` in the header Authorization."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
