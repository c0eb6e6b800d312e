"""The caller's identity. Its id is part of the key of everything that the caller creates."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from a2a.auth.user import User

PRINCIPAL_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")  # keys are made of it: no # and no /
ANONYMOUS_ID = "anyone"
TOKEN_PATTERN = re.compile(r"[!-~]{16,}")

_DIGEST_BYTES = 25  # 200 bits, 40 characters of base32 without padding
_MAX_PREFIX_CHARS = 23  # 64, less the digest and its hyphen
_DIGEST_PATTERN = re.compile(r".*-[a-z2-7]{40}", re.DOTALL)
_UNSAFE_CHARS = re.compile(r"[^A-Za-z0-9._@-]+")


@dataclass(frozen=True)
class Principal(User):
    """A caller. With AGENTFN_AUTH=none all callers are one principal, which is not authenticated.

    Only the id is stored: it is all that later invocations know of the caller.
    """

    id: str

    @property
    def is_authenticated(self) -> bool:
        return self.id != ANONYMOUS_ID

    @property
    def user_name(self) -> str:
        return self.id


def principal_id(identity: str, prefix: str = "") -> str:
    """Returns an id that is safe in keys for any `identity`, such as an ARN or a token's subject.

    Two identities never get the same id. An identity that is safe in keys is its own id. Any other becomes a digest
    after a readable prefix: `prefix`, or the beginning of the identity. So does an identity that looks like such a
    digest, or like the anonymous principal's id.
    """
    if (
        PRINCIPAL_ID_PATTERN.fullmatch(identity)
        and not _DIGEST_PATTERN.fullmatch(identity)
        and identity != ANONYMOUS_ID
    ):
        return identity
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
    readable = _UNSAFE_CHARS.sub("-", prefix or identity).strip("-._@")[:_MAX_PREFIX_CHARS] or "caller"
    return f"{readable}-{base64.b32encode(digest).decode().lower()}"


def parse_tokens(text: str) -> dict[str, str]:
    """Parses a JSON object of caller id -> token, or list of tokens (for rotation), into token -> caller id.

    Raises ValueError. Its text quotes neither ids nor tokens: an operator may have swapped them.
    """
    try:
        callers: Any = json.loads(text)
    except ValueError:
        callers = None
    if not isinstance(callers, dict) or not callers:
        raise ValueError('must be a JSON object of caller name -> token, as {"default": "…"}')
    ids_by_token: dict[str, str] = {}
    for number, (name, value) in enumerate(callers.items(), 1):
        if not PRINCIPAL_ID_PATTERN.fullmatch(name):
            raise ValueError(
                f"has an invalid name for caller {number}: up to 64 letters, digits, and . _ @ - are allowed, "
                "and a letter or digit comes first"
            )
        if name == ANONYMOUS_ID:
            raise ValueError(f"names caller {number} {ANONYMOUS_ID!r}, which is reserved for AGENTFN_AUTH=none")
        for token in value if isinstance(value, list) and value else [value]:
            if not isinstance(token, str) or not TOKEN_PATTERN.fullmatch(token):
                raise ValueError(
                    f"has an invalid token for caller {number}: at least 16 printable ASCII characters without blanks "
                    "are needed"
                )
            if ids_by_token.setdefault(token, name) != name:
                raise ValueError("gives two callers the same token")
    return ids_by_token
