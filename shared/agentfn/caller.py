"""Who calls. His name owns what he creates, and is part of every key."""

import base64
import hashlib
import re
from dataclasses import dataclass

from a2a.auth.user import User

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")  # it is a part of keys: no # and no /
ANYONE = "anyone"

_DIGEST = 25  # bytes: 200 bits, 40 characters of base32 without padding
_START = 23  # characters that are left to be read by people: 64, less the digest and its hyphen
_DIGESTED = re.compile(r".*-[a-z2-7]{40}", re.DOTALL)
_UNREADABLE = re.compile(r"[^A-Za-z0-9._@-]+")


@dataclass(frozen=True)
class Caller(User):
    """In open mode all callers are one, and nobody is authenticated. A later invocation knows him by his name alone."""

    name: str

    @property
    def is_authenticated(self) -> bool:
        return self.name != ANYONE

    @property
    def user_name(self) -> str:
        return self.name


def owner_of(identity: str, start: str = "") -> str:
    """The name for keys of whoever is known elsewhere as `identity`: any text, such as an ARN or a token's subject.

    Two identities never get one name. One that is fit for keys stays as it is; any other becomes a digest, after a
    `start` that says something to people. So does one that looks like such a digest, or like everyone in open mode.
    """
    if NAME.fullmatch(identity) and not _DIGESTED.fullmatch(identity) and identity != ANYONE:
        return identity
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]
    readable = _UNREADABLE.sub("-", start or identity).strip("-._@")[:_START] or "caller"
    return f"{readable}-{base64.b32encode(digest).decode().lower()}"
