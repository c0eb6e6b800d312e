"""HTTP endpoints for the agent card and the public signing keys, with entity tags for caches."""

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
from agentfn.call_context import CallContext
from agentfn.errors import AgentfnError
from agentfn.settings import Settings
from agentfn.telemetry import logger

MAX_CACHED_URLS = 16  # one card is cached for each URL that the agent is called by
CACHE_CONTROL = "public, max-age=300"  # caches may trust a withdrawn key, and miss a new skill, for so long


class CardEndpoint:
    """Serves the card, signed if there are `signing_keys`."""

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
        """Returns the card for authenticated callers."""
        return self._cached_card(url, await self._current_key() if signed else None, extended=True)

    async def serve_card(self, request: Request) -> Response:
        """Answers with the public card, in a layout that clients of 1.0 and 0.3 can read."""
        base_url = CallContext.from_scope(request.scope).base_url
        try:
            content, tag = self._cached_content(base_url, await self._current_key())
        except AgentfnError:
            return _keys_unavailable()
        return _cacheable_response(request, content, tag)

    async def serve_jwks(self, request: Request) -> Response:
        """Answers with the public keys as a JSON Web Key Set (RFC 7517)."""
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
        """Returns the card's JSON and its entity tag.

        Signatures are not deterministic, and each process makes its own. The tag of a signed card is a weak one that
        leaves the signatures out, so that the card in a client's cache stays valid.
        """
        card = agent_card_to_dict(self._cached_card(url, key))
        content = json.dumps(card, ensure_ascii=False).encode()
        if key is None:
            return content, f'"{hashlib.sha256(content).hexdigest()}"'
        unsigned = card | {"signatures": [signature["protected"] for signature in card["signatures"]]}
        return content, f'W/"{hashlib.sha256(json.dumps(unsigned).encode()).hexdigest()}"'


def _cacheable_response(request: Request, content: bytes, tag: str) -> Response:
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL}
    if _etag_matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(len(content))
    return Response(b"" if request.method == "HEAD" else content, headers=headers, media_type="application/json")


def _etag_matches(if_none_match: str, tag: str) -> bool:
    """Compares weak and strong tags alike (RFC 9110, 13.1.2)."""
    cached = [cached.strip().removeprefix("W/") for cached in if_none_match.split(",")]
    return "*" in cached or tag.removeprefix("W/") in cached


def _keys_unavailable() -> JSONResponse:
    logger.exception("could not read the signing keys")
    return JSONResponse({"error": "The signing keys cannot be read at the moment; the agent's log says why."}, 503)
