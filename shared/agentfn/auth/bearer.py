"""AGENTFN_AUTH=bearer: tokens of named callers, from a secret."""

import asyncio
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.auth.authenticator import EMPTY_CONTEXT, REALM, AuthScheme, bearer_token
from agentfn.auth.identity import Principal, parse_tokens
from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

MAX_AGE_SECONDS = 300.0
MIN_REFRESH_SECONDS = 30.0  # a token that nobody has is looked up again no more often than this


class BearerAuthenticator:
    """Tokens of named callers; one caller may have several. `read` gives their JSON text; it may block."""

    scheme = AuthScheme(
        "bearer", f"Bearer {REALM}", "This agent needs a bearer token: send it as `Authorization: Bearer <token>`."
    )

    def __init__(self, read_secret: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._read_secret = read_secret
        self._clock = clock
        self._ids_by_token: dict[str, str] = {}
        self._read_at = -MAX_AGE_SECONDS

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """The caller whose token this is; None for no token or one that nobody has."""
        token = bearer_token(headers)
        if token is None:
            return None
        age = self._clock() - self._read_at
        if age >= MAX_AGE_SECONDS:
            await self._refresh()
            age = 0.0
        name = self._find_id(token)
        if name is None and age >= MIN_REFRESH_SECONDS:
            await self._refresh()
            name = self._find_id(token)
        return Principal(name) if name else None

    async def _refresh(self) -> None:
        """Tokens that are known stay known when the secret cannot be read; without any, the failure is raised.

        Raises ConfigurationError where the secret holds no tokens.
        """
        self._read_at = self._clock()
        try:
            self._ids_by_token = await asyncio.to_thread(self._load_tokens)
        except (ConfigurationError, BotoCoreError, ClientError):
            if not self._ids_by_token:
                self._read_at = -MAX_AGE_SECONDS
                raise
            logger.exception("the callers' tokens could not be read again; those from before stay valid")

    def _load_tokens(self) -> dict[str, str]:
        try:
            return parse_tokens(self._read_secret())
        except ValueError as error:
            raise ConfigurationError(f"the secret in AGENTFN_TOKENS_SECRET {error}") from None

    def _find_id(self, given: str) -> str | None:
        """Compares with every token, each in constant time, so that timing tells nothing."""
        found = None
        for token, name in self._ids_by_token.items():
            if hmac.compare_digest(token.encode(), given.encode()):
                found = name
        return found
