"""Names from outside. A name is data: it is shown and sent, and never decides where anything is stored."""

import re
import unicodedata
from urllib.parse import quote

LONGEST = 200  # characters
SAFE_TO_SHOW = frozenset(
    {"text/plain", "text/markdown", "text/csv", "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
)
NOT_ASCII = re.compile(r'[^ -~]|["\\%]')


def safe_name(name: str, default: str = "file") -> str:
    """The base name alone, without control, format (bidi) or surrogate characters and quotes, and not too long."""
    base = re.split(r"[/\\]", name)[-1]
    kept = "".join(char for char in base if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co"))
    kept = kept.replace('"', "").strip().lstrip(".")
    if len(kept) > LONGEST:
        stem, dot, suffix = kept.rpartition(".")
        keep_suffix = dot and len(suffix) < 20
        kept = f"{stem[: LONGEST - len(suffix) - 1]}.{suffix}" if keep_suffix else kept[:LONGEST]
    return kept or default


def disposition(name: str, media_type: str) -> str:
    """A Content-Disposition with an ASCII fallback and the real name (RFC 6266, RFC 8187)."""
    kind = "inline" if media_type in SAFE_TO_SHOW else "attachment"
    plain = NOT_ASCII.sub("_", unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode() or "file")
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
