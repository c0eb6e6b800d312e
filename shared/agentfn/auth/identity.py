"""Who calls. His name owns what he creates, and is part of every key."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from a2a.auth.user import User

PRINCIPAL_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")  # it is a part of keys: no # and no /
ANONYMOUS_ID = "anyone"
TOKEN_PATTERN = re.compile(r"[!-~]{16,}")

_DIGEST_BYTES = 25  # bytes: 200 bits, 40 characters of base32 without padding
_MAX_PREFIX_CHARS = 23  # characters that are left to be read by people: 64, less the digest and its hyphen
_DIGEST_PATTERN = re.compile(r".*-[a-z2-7]{40}", re.DOTALL)
_UNSAFE_CHARS = re.compile(r"[^A-Za-z0-9._@-]+")


@dataclass(frozen=True)
class Principal(User):
    """In open mode all callers are one, and nobody is authenticated. A later invocation knows him by his name alone."""

    id: str

    @property
    def is_authenticated(self) -> bool:
        return self.id != ANONYMOUS_ID

    @property
    def user_name(self) -> str:
        return self.id


def principal_id(identity: str, prefix: str = "") -> str:
    """The name for keys of whoever is known elsewhere as `identity`: any text, such as an ARN or a token's subject.

    Two identities never get one name. One that is fit for keys stays as it is; any other becomes a digest, after a
    `start` that says something to people. So does one that looks like such a digest, or like everyone in open mode.
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
    """Token -> name of its caller, from a JSON object of name -> token, or list of tokens while they are rotated.

    Raises ValueError. It quotes neither names nor tokens: they may have been swapped.
    """
    try:
        callers: Any = json.loads(text)
    except ValueError:
        callers = None
    if not isinstance(callers, dict) or not callers:
        raise ValueError('must be a JSON object of caller name -> token, as {"default": "…"}')
    owners: dict[str, str] = {}
    for number, (name, given) in enumerate(callers.items(), 1):
        if not PRINCIPAL_ID_PATTERN.fullmatch(name):
            raise ValueError(
                f"the name of caller {number} must be at most 64 letters, digits, and . _ @ - between them"
            )
        if name == ANONYMOUS_ID:
            raise ValueError(f"caller {number} has the name that everyone has where callers are not told apart")
        for token in given if isinstance(given, list) and given else [given]:
            if not isinstance(token, str) or not TOKEN_PATTERN.fullmatch(token):
                raise ValueError(
                    f"the token of caller {number} must be a text of at least 16 characters, none of them blank"
                )
            if owners.setdefault(token, name) != name:
                raise ValueError("two callers have the same token")
    return owners
