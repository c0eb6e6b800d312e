"""Gives the card out: placed where the request came in, signed where there is a key, and easy to keep."""

import functools
import hashlib
import json

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentfn.a2a.card.card_builder import build_card, has_extended_card, with_interfaces
from agentfn.a2a.card.card_signature import sign_card
from agentfn.a2a.card.signing_keys import SigningKey, SigningKeys
from agentfn.agent import Agent
from agentfn.auth.authenticator import AuthScheme
from agentfn.errors import AgentfnError
from agentfn.settings import Settings
from agentfn.telemetry import logger

MAX_CACHED_URLS = 16  # addresses whose cards are remembered
CACHE_CONTROL = "public, max-age=300"  # as long as a withdrawn key may still be trusted, and a new skill be unknown


class CardEndpoint:
    """`ring` holds the keys that the card is signed with; without one it is not signed."""

    def __init__(
        self, agent: Agent, scheme: AuthScheme, settings: Settings, signing_keys: SigningKeys | None = None
    ) -> None:
        build = functools.partial(
            build_card, agent, scheme, streaming=settings.http.streaming, push=settings.push.enabled
        )
        self._public_card, self._extended_card = build(), build(extended=True)
        self._signing_keys = signing_keys
        self.is_signed = signing_keys is not None
        self.has_extended = has_extended_card(agent, scheme)
        self._cached_card = functools.lru_cache(MAX_CACHED_URLS)(self._build_card)
        self._cached_content = functools.lru_cache(MAX_CACHED_URLS)(self._serialize_card)

    async def extended_card(self, url: str, *, signed: bool) -> AgentCard:
        """The card for callers who are known."""
        return self._cached_card(url, await self._current_key() if signed else None, extended=True)

    async def serve_card(self, request: Request) -> Response:
        """The public card, in the layouts of 1.0 and 0.3 at once."""
        try:
            content, tag = self._cached_content(
                request.scope["aws.event"]["agentfn.address"], await self._current_key()
            )
        except AgentfnError:
            return _keys_unavailable()
        return _cacheable_response(request, content, tag)

    async def serve_jwks(self, request: Request) -> Response:
        """The public keys, as a JSON Web SigningKey Set (RFC 7517)."""
        try:
            keys = await self._signing_keys.current() if self._signing_keys else ()
        except AgentfnError:
            return _keys_unavailable()
        content = json.dumps({"keys": [key.public_jwk for key in keys]}).encode()
        return _cacheable_response(request, content, f'"{hashlib.sha256(content).hexdigest()}"')

    async def _current_key(self) -> SigningKey | None:
        return (await self._signing_keys.current())[0] if self._signing_keys else None

    def _build_card(self, url: str, key: SigningKey | None, *, extended: bool = False) -> AgentCard:
        card = with_interfaces(self._extended_card if extended else self._public_card, url)
        return sign_card(card, key, url) if key else card

    def _serialize_card(self, url: str, key: SigningKey | None) -> tuple[bytes, str]:
        """The bytes of the card, and its entity tag.

        A signature may come out differently each time it is made, and each process makes its own. Cards that differ in
        nothing else are as good as the same, which is what a weak tag says: what a client has kept stays good.
        """
        card = agent_card_to_dict(self._cached_card(url, key))
        content = json.dumps(card, ensure_ascii=False).encode()
        if key is None:
            return content, f'"{hashlib.sha256(content).hexdigest()}"'
        same = card | {"signatures": [signature["protected"] for signature in card["signatures"]]}
        return content, f'W/"{hashlib.sha256(json.dumps(same).encode()).hexdigest()}"'


def _cacheable_response(request: Request, content: bytes, tag: str) -> Response:
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL}
    if _etag_matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(len(content))
    return Response(b"" if request.method == "HEAD" else content, headers=headers, media_type="application/json")


def _etag_matches(if_none_match: str, tag: str) -> bool:
    """RFC 9110, 13.1.2: weak and strong tags are compared alike."""
    held = [held.strip().removeprefix("W/") for held in if_none_match.split(",")]
    return "*" in held or tag.removeprefix("W/") in held


def _keys_unavailable() -> JSONResponse:
    logger.exception("the signing keys cannot be read")
    return JSONResponse({"error": "The signing keys cannot be read at the moment; the agent's log says why."}, 503)
