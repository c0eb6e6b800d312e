"""A client for an issuer's JSON Web Key Set (RFC 7517): the public keys that its tokens are signed with."""

import json
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentfn.auth.refresh_cache import RefreshCache
from agentfn.errors import ConfigurationError

if TYPE_CHECKING:
    from jwt import PyJWK

FetchUrl = Callable[[str], bytes]

ALGORITHMS = ("RS256", "ES256", "EdDSA")  # asymmetric only: a key that verifies tokens must not be able to sign them
KEY_TYPES = ("RSA", "EC", "OKP")  # not "oct", a shared secret
DISCOVERY_PATH = "/.well-known/openid-configuration"
FETCH_TIMEOUT_SECONDS = 5.0
MAX_DOCUMENT_BYTES = 256 * 1024


class JwksClient:
    """Fetches and caches the key set. PyJWKClient is not used: it has no size limit and no discovery, needs a key id,
    and drops the cached keys when they cannot be fetched again.

    `url` is the key set's; without it, the issuer's discovery document names it. `fetch` may block, and raises OSError.
    """

    def __init__(
        self, issuer: str, url: str | None, fetch: FetchUrl, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._url = url
        self._fetch = fetch
        self._keys = RefreshCache(self._load_keys, f"the signing keys of {issuer}", clock)

    async def find_key(self, key_id: str | None, algorithm: str) -> "PyJWK | None":
        """Returns the key with that id; without an id, the only key for the algorithm.

        Raises ConfigurationError if no keys can be fetched and none are cached.
        """

        def lookup(keys: "list[PyJWK]") -> "PyJWK | None":
            matching = [key for key in keys if key.algorithm_name == algorithm and key_id in (None, key.key_id)]
            return matching[0] if len(matching) == 1 else None

        return await self._keys.find(lookup)

    def _load_keys(self) -> "list[PyJWK]":
        try:
            return self._fetch_keys()
        except (OSError, HTTPException, ValueError) as error:
            raise ConfigurationError(
                f"cannot read the signing keys of {self._issuer}: {error}; "
                "check AGENTFN_JWT_ISSUER and AGENTFN_JWT_JWKS_URL"
            ) from error

    def _fetch_keys(self) -> "list[PyJWK]":
        url = self._url or self._discover_jwks_url()
        listed = _parse_object(self._fetch(url), url).get("keys")
        keys = [key for jwk in (listed if isinstance(listed, list) else []) if (key := _parse_key(jwk))]
        if not keys:
            raise ValueError(f"{url} has no key for {', '.join(ALGORITHMS)}")
        return keys

    def _discover_jwks_url(self) -> str:
        """Reads the key set's URL from the discovery document, which must name this issuer."""
        url = discovery_document_url(self._issuer)
        document = _parse_object(self._fetch(url), url)
        if document.get("issuer") != self._issuer or not isinstance(document.get("jwks_uri"), str):
            raise ValueError(f"{url} is not a discovery document with a jwks_uri and exactly the issuer {self._issuer}")
        return str(document["jwks_uri"])


def discovery_document_url(issuer: str) -> str:
    """Returns the URL of an issuer's OpenID Connect discovery document."""
    return issuer.rstrip("/") + DISCOVERY_PATH


def fetch_https(url: str) -> bytes:
    """Fetches a document of at most MAX_DOCUMENT_BYTES by https, without redirects. Raises OSError and ValueError."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirectHandler(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None  # urllib then raises HTTPError, with the redirect's status

    if urlsplit(url).scheme != "https":
        raise ValueError(f"{url} is not an https URL")
    with build_opener(NoRedirectHandler).open(url, timeout=FETCH_TIMEOUT_SECONDS) as response:
        content: bytes = response.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"{url} has more than {MAX_DOCUMENT_BYTES:,} bytes")
    return content


def _parse_key(jwk: Any) -> "PyJWK | None":
    """Returns None for a key of another type, or one that is not for signatures: providers publish these too."""
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
        raise ValueError(f"{url} is not a JSON object")
    return document
