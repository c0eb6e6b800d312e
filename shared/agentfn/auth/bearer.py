"""AGENTFN_AUTH=bearer: tokens of named callers, from a secret."""

import asyncio
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.auth.authenticator import NOWHERE, REALM, Scheme, bearer_token
from agentfn.auth.identity import Caller, read_tokens
from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

FRESH_SECONDS = 300.0
REREAD_SECONDS = 30.0  # a token that nobody has is looked up again no more often than this


class BearerTokens:
    """Tokens of named callers; one caller may have several. `read` gives their JSON text; it may block."""

    scheme = Scheme(
        "bearer", f"Bearer {REALM}", "This agent needs a bearer token: send it as `Authorization: Bearer <token>`."
    )

    def __init__(self, read: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._owners: dict[str, str] = {}
        self._read_at = -FRESH_SECONDS

    async def identify(self, headers: Mapping[str, str], context: Mapping[str, Any] = NOWHERE) -> Caller | None:
        """The caller whose token this is; None for no token or one that nobody has."""
        token = bearer_token(headers)
        if token is None:
            return None
        age = self._clock() - self._read_at
        if age >= FRESH_SECONDS:
            await self._refresh()
            age = 0.0
        name = self._owner(token)
        if name is None and age >= REREAD_SECONDS:
            await self._refresh()
            name = self._owner(token)
        return Caller(name) if name else None

    async def _refresh(self) -> None:
        """Tokens that are known stay known when the secret cannot be read; without any, the failure is raised.

        Raises ConfigurationError where the secret holds no tokens.
        """
        self._read_at = self._clock()
        try:
            self._owners = await asyncio.to_thread(self._current)
        except (ConfigurationError, BotoCoreError, ClientError):
            if not self._owners:
                self._read_at = -FRESH_SECONDS
                raise
            logger.exception("the callers' tokens could not be read again; those from before stay valid")

    def _current(self) -> dict[str, str]:
        try:
            return read_tokens(self._read())
        except ValueError as error:
            raise ConfigurationError(f"the secret in AGENTFN_TOKENS_SECRET {error}") from None

    def _owner(self, given: str) -> str | None:
        """Compares with every token, each in constant time, so that timing tells nothing."""
        found = None
        for token, name in self._owners.items():
            if hmac.compare_digest(token.encode(), given.encode()):
                found = name
        return found
