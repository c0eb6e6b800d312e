"""The agent's own private keys: what it signs with, and what others check its signatures with."""

import asyncio
import base64
import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

MAX_AGE_SECONDS = 300.0
MIN_RSA_BITS = 2048  # bits
PEM_PATTERN = re.compile(r"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
ACCEPTED_KEYS = (
    "wanted are private keys in PEM, without a passphrase: EC on P-256, RSA of 2048 bits or more, or Ed25519"
)
MISSING_PACKAGES = (
    "{variable} is set, which needs the packages of agentfn's extra `jwt` (pyjwt and cryptography): add them to the "
    "agent's requirements.txt, or `pip install 'agentfn[jwt]'`"
)
THUMBPRINT_MEMBERS = {
    "ES256": ("crv", "kty", "x", "y"),
    "RS256": ("e", "kty", "n"),
    "EdDSA": ("crv", "kty", "x"),
}  # RFC 7638


@dataclass(frozen=True)
class SigningKey:
    """`id` is the thumbprint of RFC 7638; `public` is the JSON Web Key that is published."""

    id: str
    algorithm: str
    private_key: Any = field(repr=False, compare=False)
    public_jwk: dict[str, str] = field(repr=False, compare=False)


class SigningKeys:
    """The first key signs; all are published, so that signatures of the one before hold while keys are rotated.

    `read` gives their PEM text, one after the other; it may block. `variable` is the setting that an operator looks
    at. Raises ConfigurationError where the packages of the extra `jwt` are not there.
    """

    def __init__(
        self, read_secret: Callable[[], str], variable: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not (find_spec("jwt") and find_spec("cryptography")):
            raise ConfigurationError(MISSING_PACKAGES.format(variable=variable))
        self._read_secret = read_secret
        self._variable = variable
        self._clock = clock
        self._keys: tuple[SigningKey, ...] = ()
        self._read_at = -MAX_AGE_SECONDS

    def load(self) -> tuple[SigningKey, ...]:
        """Reads them now. Raises ConfigurationError for a text that holds none, or one that is of no use."""
        try:
            self._keys = parse_keys(self._read_secret())
        except ValueError as error:
            raise ConfigurationError(f"{self._variable}: {error}") from None
        self._read_at = self._clock()
        return self._keys

    async def current(self) -> tuple[SigningKey, ...]:
        """Keys that are known stay known when they cannot be read again; without any, the failure is raised."""
        if self._clock() - self._read_at < MAX_AGE_SECONDS:
            return self._keys
        try:
            return await asyncio.to_thread(self.load)
        except (ConfigurationError, BotoCoreError, ClientError):
            if not self._keys:
                raise
            self._read_at = self._clock()
            logger.exception("the signing keys could not be read again; those from before still sign")
            return self._keys


def parse_keys(text: str) -> tuple[SigningKey, ...]:
    """All keys of a text, in its order. Line ends may be written as `\\n`. Raises ValueError, which quotes nothing."""
    blocks = [match.group() for match in PEM_PATTERN.finditer(text.replace("\\n", "\n"))]
    if not blocks:
        raise ValueError(f"holds no key; {ACCEPTED_KEYS}")
    keys = [_parse_key(block, number) for number, block in enumerate(blocks, 1)]
    return tuple({key.id: key for key in keys}.values())


def _parse_key(block: str, number: int) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(block.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # it may quote the text; TypeError: there is a passphrase
        raise ValueError(f"key {number} cannot be read; {ACCEPTED_KEYS}") from None
    algorithm, whole = _algorithm_and_jwk(private)
    if algorithm is None:
        raise ValueError(f"key {number} is of another kind; {ACCEPTED_KEYS}")
    public = {name: str(whole[name]) for name in THUMBPRINT_MEMBERS[algorithm]}
    canonical = json.dumps(public, sort_keys=True, separators=(",", ":")).encode()
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    return SigningKey(thumbprint, algorithm, private, {**public, "kid": thumbprint, "use": "sig", "alg": algorithm})


def _algorithm_and_jwk(private: Any) -> tuple[str | None, dict[str, Any]]:
    """The algorithm that a key signs with, and its public half as a JSON Web Key."""
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
