"""AGENTFN_AUTH=bearer: each caller has tokens of their own, which are kept in a secret."""

import functools
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any

from agentfn.auth.authenticator import EMPTY_CONTEXT, REALM, AuthScheme, bearer_token
from agentfn.auth.identity import Principal, parse_tokens
from agentfn.auth.refresh_cache import RefreshCache
from agentfn.errors import ConfigurationError


class BearerAuthenticator:
    """Looks a bearer token up among the tokens of known callers.

    `read_secret` returns the secret's JSON text and may block. A rotated secret takes effect after at most
    MAX_AGE_SECONDS; a new token, after MIN_REFRESH_SECONDS.
    """

    scheme = AuthScheme(
        "bearer", f"Bearer {REALM}", "This agent needs a bearer token: send it as `Authorization: Bearer <token>`."
    )

    def __init__(self, read_secret: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = RefreshCache(functools.partial(_load_tokens, read_secret), "the callers' tokens", clock)

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """Returns the token's caller, or None if there is no token or nobody has it.

        Raises ConfigurationError if the secret is invalid, and other errors if it cannot be read.
        """
        token = bearer_token(headers)
        if token is None:
            return None
        caller_id = await self._tokens.find(lambda ids_by_token: _find_id(ids_by_token, token))
        return Principal(caller_id) if caller_id else None


def _load_tokens(read_secret: Callable[[], str]) -> dict[str, str]:
    try:
        return parse_tokens(read_secret())
    except ValueError as error:
        raise ConfigurationError(f"AGENTFN_TOKENS_SECRET: the secret {error}") from None


def _find_id(ids_by_token: Mapping[str, str], given: str) -> str | None:
    """Compares with every token in constant time, so that the response time reveals nothing."""
    found = None
    for token, caller_id in ids_by_token.items():
        if hmac.compare_digest(token.encode(), given.encode()):
            found = caller_id
    return found
