"""File names and media types from outside, made safe. A file name never decides where a file is stored."""

import re
import unicodedata
from urllib.parse import quote

MAX_NAME_BYTES = 200  # bytes; file systems take 255
INLINE_MEDIA_TYPES = frozenset(
    {"text/plain", "text/markdown", "text/csv", "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
)
MEDIA_TYPE = re.compile(r"[a-zA-Z0-9][\w.+-]*/[\w.+-]+(; ?[\w.-]+=[\w.+-]+)*", re.ASCII)
INVISIBLE_CATEGORIES = (
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Zl",
    "Zp",
)  # control, format (bidi), surrogate, private; line separators
NOT_ASCII = re.compile(r'[^ -~]|["\\%]')


def sanitize_file_name(name: str, default: str = "file") -> str:
    """The base name without invisible characters and quotes, at most MAX_NAME_BYTES long. Safe names are kept."""
    base = re.split(r"[/\\]", name)[-1]
    kept = "".join(char for char in base if unicodedata.category(char) not in INVISIBLE_CATEGORIES)
    kept = re.sub(r"^[\s.]+", "", kept.replace('"', "")).strip()
    if len(kept.encode()) > MAX_NAME_BYTES:
        stem, dot, suffix = kept.rpartition(".")
        suffix = f".{suffix}" if dot and len(suffix.encode()) < 20 else ""
        kept = _truncate_utf8(stem if suffix else kept, MAX_NAME_BYTES - len(suffix.encode())) + suffix
    return kept or default


def sanitize_media_type(media_type: str) -> str:
    """The media type if it is valid in a header, "application/octet-stream" otherwise."""
    return media_type if MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"


def _truncate_utf8(text: str, size: int) -> str:
    """The start of the text, at most `size` bytes in UTF-8."""
    return text.encode()[:size].decode("utf-8", "ignore").strip()


def content_disposition(name: str, media_type: str) -> str:
    """A Content-Disposition header with an ASCII fallback and the full name (RFC 6266, RFC 8187)."""
    kind = "inline" if media_type in INLINE_MEDIA_TYPES else "attachment"
    plain = NOT_ASCII.sub("_", unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().strip() or "file")
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='', errors='replace')}"
