"""The facts of one HTTP request that the code behind the routes needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentfn.auth.identity import Principal
from agentfn.deadline import Deadline

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext

SCOPE_KEY = "agentfn.call"  # in the ASGI scope
STATE_KEY = "call"  # in the state of the sdk's ServerCallContext
VERSION_0_3 = "0.3"


@dataclass(frozen=True)
class CallContext:
    """Who sent a request, how long it may take, and how it is to be answered.

    `deadline` is the invocation's. `response_deadline` is earlier: by then API Gateway must have the answer to a
    request that is not streamed. `base_url` is the agent's URL as the caller knows it. `omit_history` says that the
    caller asked for a `historyLength` of 0, which the sdk takes for no limit.
    """

    caller: Principal
    deadline: Deadline
    response_deadline: Deadline
    base_url: str
    request_id: str = "unknown"
    protocol_version: str = ""
    idempotency_key: str = ""
    omit_history: bool = False

    @property
    def is_v0_3(self) -> bool:
        return self.protocol_version == VERSION_0_3

    @classmethod
    def from_scope(cls, scope: Mapping[str, Any]) -> "CallContext":
        """Returns the context that AuthenticationMiddleware put into the ASGI scope."""
        call: CallContext = scope[SCOPE_KEY]
        return call

    @classmethod
    def from_sdk(cls, context: "ServerCallContext") -> "CallContext":
        """Returns the context that CallContextBuilder put into the sdk's."""
        call: CallContext = context.state[STATE_KEY]
        return call
