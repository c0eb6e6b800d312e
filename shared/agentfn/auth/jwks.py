"""The keys that an issuer signs tokens with, as it publishes them: a JSON Web Key Set (RFC 7517)."""

import asyncio
import json
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from jwt import PyJWK

FetchUrl = Callable[[str], bytes]

ALGORITHMS = ("RS256", "ES256", "EdDSA")  # signatures of key pairs: what checks a token can make none
KEY_TYPES = ("RSA", "EC", "OKP")  # not "oct", a secret that both sides have
DISCOVERY_PATH = "/.well-known/openid-configuration"
MAX_AGE_SECONDS = 300.0
MIN_REFRESH_SECONDS = 30.0  # a key that nobody has is looked up again no more often than this
FETCH_TIMEOUT_SECONDS = 5.0
MAX_DOCUMENT_BYTES = 256 * 1024  # bytes


class JwksClient:
    """Read when first needed, again when old, and for a key that is not in it. `url` is where the keys are; without it
    the issuer's discovery document says so. `fetch` may block, and raises OSError.
    """

    def __init__(
        self, issuer: str, url: str | None, fetch: FetchUrl, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._keys: list[PyJWK] = []
        self._read_at = -MAX_AGE_SECONDS

    async def find_key(self, key_id: str | None, algorithm: str) -> "PyJWK | None":
        """The key of that id; without an id, the only one for the algorithm. Raises ConfigurationError where no keys
        can be had at all.
        """
        age = self._clock() - self._read_at
        if age >= MAX_AGE_SECONDS:
            await self._refresh()
            age = 0.0
        key = self._find_cached(key_id, algorithm)
        if key is None and age >= MIN_REFRESH_SECONDS:
            await self._refresh()
            key = self._find_cached(key_id, algorithm)
        return key

    def _find_cached(self, key_id: str | None, algorithm: str) -> "PyJWK | None":
        keys = [key for key in self._keys if key.algorithm_name == algorithm and key_id in (None, key.key_id)]
        return keys[0] if len(keys) == 1 else None

    async def _refresh(self) -> None:
        """Keys that are known stay known when they cannot be read again; without any, the failure is raised."""
        self._read_at = self._clock()
        try:
            self._keys = await asyncio.to_thread(self._load_keys)
        except (OSError, HTTPException, ValueError) as error:
            text = (
                f"the signing keys of {self._issuer} cannot be read: {error}; look at AGENTFN_JWT_ISSUER and _JWKS_URL"
            )
            if not self._keys:
                self._read_at = -MAX_AGE_SECONDS
                raise ConfigurationError(text) from error
            logger.error("%s; those from before stay valid", text)

    def _load_keys(self) -> "list[PyJWK]":
        url = self._url or self._discover_jwks_url()
        listed = _parse_object(self._fetch(url), url).get("keys")
        keys = [key for jwk in (listed if isinstance(listed, list) else []) if (key := _parse_key(jwk))]
        if not keys:
            raise ValueError(f"{url} holds no key for {', '.join(ALGORITHMS)}")
        return keys

    def _discover_jwks_url(self) -> str:
        """Where the issuer says its keys are. A document of another issuer says nothing of this one's."""
        url = discovery_document_url(self._issuer)
        document = _parse_object(self._fetch(url), url)
        if document.get("issuer") != self._issuer or not isinstance(document.get("jwks_uri"), str):
            raise ValueError(f"{url} is no discovery document of {self._issuer}, to the letter, with a jwks_uri")
        return str(document["jwks_uri"])


def discovery_document_url(issuer: str) -> str:
    return issuer.rstrip("/") + DISCOVERY_PATH


def fetch_https(url: str) -> bytes:
    """The default: https only, no redirects, and no more than LARGEST bytes. Raises OSError and ValueError."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Unredirected(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None  # urllib then raises HTTPError, with the redirect's status

    if urlsplit(url).scheme != "https":
        raise ValueError(f"{url} is not an https address")
    with build_opener(Unredirected).open(url, timeout=FETCH_TIMEOUT_SECONDS) as answer:
        content: bytes = answer.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"{url} gives more than {MAX_DOCUMENT_BYTES:,} bytes")
    return content


def _parse_key(jwk: Any) -> "PyJWK | None":
    """None for a key that is of another kind, or not for signatures: providers publish such ones too."""
    from jwt import PyJWK, PyJWTError

    if not isinstance(jwk, dict) or jwk.get("kty") not in KEY_TYPES or jwk.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(jwk)
    except PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS else None


def _parse_object(content: bytes, url: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ValueError(f"{url} gives no JSON object")
    return document
