"""Decodes text files of unknown encoding."""

import codecs
import re

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE_BYTES = 200_000
# Text of other code pages that is decoded as cp1252 has signs in words and capitals at their end.
SUSPICIOUS_CHARS = "[¹³¿¶±¼¾¥£¢¦¤]"
SUSPICIOUS_IN_WORD = re.compile(rf"[^\W\d_]{SUSPICIOUS_CHARS}|\b{SUSPICIOUS_CHARS}[^\W\d_]|[a-z][ŽŠŸ]")
# The code pages to choose from when cp1252 is ruled out.
CODE_PAGES = ["cp1250", "cp1251", "cp1253", "cp1255", "cp1256", "mac_roman", "koi8_r", "iso8859_2"]
CODE_PAGES += ["shift_jis", "gb18030", "big5", "euc_jp", "euc_kr"]


def decode_text(raw: bytes) -> tuple[str, str] | None:
    """The text and the name of its encoding, None for bytes that are no text."""
    for bom, encoding in BOMS:
        if raw.startswith(bom):
            return _try_decode(raw, encoding)
    if b"\0" in raw[:SAMPLE_BYTES]:
        return _decode_utf16(raw)
    return _try_decode(raw, "utf-8") or _decode_code_page(raw)


def _try_decode(raw: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        return raw.decode(encoding), encoding.removesuffix("-sig")
    except UnicodeDecodeError:
        return None


def _decode_utf16(raw: bytes) -> tuple[str, str] | None:
    """Decodes UTF-16 without byte order mark: nearly every second byte is zero, always the same one of the pair."""
    sample = raw[: SAMPLE_BYTES // 2 * 2]
    high, low = sample[1::2].count(0), sample[0::2].count(0)
    half = len(sample) // 2
    if high > 0.6 * half and not low:
        return _try_decode(raw, "utf-16-le")
    if low > 0.6 * half and not high:
        return _try_decode(raw, "utf-16-be")
    return None


def _decode_code_page(raw: bytes) -> tuple[str, str] | None:
    """Decodes an 8-bit code page: cp1252 if that gives plausible western text, else the most likely one."""
    western = _try_decode(raw, "cp1252")
    if western and _is_plausible(western[0][:SAMPLE_BYTES]):
        return western
    from charset_normalizer import from_bytes

    best = from_bytes(raw[:SAMPLE_BYTES], cp_isolation=CODE_PAGES).best()
    return (raw.decode(best.encoding, errors="replace"), best.encoding) if best else western


def _is_plausible(text: str) -> bool:
    """Western words have few accents; Greek or Cyrillic bytes decoded as cp1252 have almost only accents."""
    letters = [char for char in text if char.isalpha()]
    accented = sum(char > "\x7f" for char in letters)
    controls = sum(char < " " and char not in "\t\n\r\f" for char in text)
    return accented <= 0.4 * len(letters) and not controls and not SUSPICIOUS_IN_WORD.search(text)
