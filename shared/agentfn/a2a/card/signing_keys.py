"""The agent's private keys: it signs its card and its notifications with them."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from agentfn.auth.refresh_cache import RefreshCache
from agentfn.errors import ConfigurationError

MIN_RSA_BITS = 2048
PEM_PATTERN = re.compile(r"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
ACCEPTED_KEYS = (
    "accepted are private keys in PEM without a passphrase: EC on P-256, RSA of 2048 bits or more, or Ed25519"
)
MISSING_PACKAGES = (
    "{variable} is set, which needs the packages of agentfn's extra `jwt` (pyjwt and cryptography): add them to the "
    "agent's requirements.txt, or `pip install 'agentfn[jwt]'`"
)
THUMBPRINT_MEMBERS = {  # RFC 7638
    "ES256": ("crv", "kty", "x", "y"),
    "RS256": ("e", "kty", "n"),
    "EdDSA": ("crv", "kty", "x"),
}


@dataclass(frozen=True)
class SigningKey:
    """A private key. `id` is its thumbprint (RFC 7638), `public_jwk` the JSON Web Key that is published."""

    id: str
    algorithm: str
    private_key: Any = field(repr=False, compare=False)
    public_jwk: dict[str, str] = field(repr=False, compare=False)


class SigningKeys:
    """The keys of a secret. The first one signs; all are published, so that older signatures stay valid after rotation.

    `read_secret` returns the keys' PEM text and may block. `variable` names the setting in error texts. Raises
    ConfigurationError if the packages of the extra `jwt` are missing.
    """

    def __init__(
        self, read_secret: Callable[[], str], variable: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not (find_spec("jwt") and find_spec("cryptography")):
            raise ConfigurationError(MISSING_PACKAGES.format(variable=variable))
        self._read_secret = read_secret
        self._variable = variable
        self._keys = RefreshCache(self._read, "the signing keys", clock)

    def load(self) -> tuple[SigningKey, ...]:
        """Reads the keys now. Blocks. Raises ConfigurationError if there is no key, or an unusable one."""
        return self._keys.load()

    async def current(self) -> tuple[SigningKey, ...]:
        """Returns the keys, which are at most MAX_AGE_SECONDS old unless the secret cannot be read.

        Raises ConfigurationError like `load`, and other errors if the secret was never read.
        """
        return await self._keys.get()

    def _read(self) -> tuple[SigningKey, ...]:
        try:
            return parse_keys(self._read_secret())
        except ValueError as error:
            raise ConfigurationError(f"{self._variable}: {error}") from None


def parse_keys(text: str) -> tuple[SigningKey, ...]:
    """Parses the keys of a text, whose line ends may be written as `\\n`. Raises ValueError, without quoting it."""
    blocks = [match.group() for match in PEM_PATTERN.finditer(text.replace("\\n", "\n"))]
    if not blocks:
        raise ValueError(f"has no key; {ACCEPTED_KEYS}")
    keys = [_parse_key(block, number) for number, block in enumerate(blocks, 1)]
    return tuple({key.id: key for key in keys}.values())


def _parse_key(block: str, number: int) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(block.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a passphrase
        raise ValueError(f"key {number} cannot be read; {ACCEPTED_KEYS}") from None
    algorithm, jwk = _algorithm_and_jwk(private)
    if algorithm is None:
        raise ValueError(f"key {number} is of another type; {ACCEPTED_KEYS}")
    public = {name: str(jwk[name]) for name in THUMBPRINT_MEMBERS[algorithm]}
    canonical = json.dumps(public, sort_keys=True, separators=(",", ":")).encode()
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    return SigningKey(thumbprint, algorithm, private, {**public, "kid": thumbprint, "use": "sig", "alg": algorithm})


def _algorithm_and_jwk(private: Any) -> tuple[str | None, dict[str, Any]]:
    """Returns the algorithm that a key signs with, and its public key as a JSON Web Key. None for other keys."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

    match private:
        case ec.EllipticCurvePrivateKey() if isinstance(private.curve, ec.SECP256R1):
            return "ES256", ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
        case rsa.RSAPrivateKey() if private.key_size >= MIN_RSA_BITS:
            return "RS256", RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
        case ed25519.Ed25519PrivateKey():
            return "EdDSA", OKPAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return None, {}
