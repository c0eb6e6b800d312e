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
DECLARED_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:-]{2,40})""", re.IGNORECASE)
SAMPLE_BYTES = 200_000
# Text of other code pages that is decoded as cp1252 has such signs within words.
SUSPICIOUS_IN_WORD = re.compile(r"[^\W\d_][¹³¿¶±¼¾¥£¢¦¤][^\W\d_]|[a-z][ŽŠŸ]")
CODE_PAGES = ["cp1250", "cp1251", "cp1253", "cp1255", "cp1256", "mac_roman", "koi8_r", "iso8859_2"]
CODE_PAGES += ["shift_jis", "gb18030", "big5", "euc_jp", "euc_kr"]


def decode_text(raw: bytes, *, html: bool = False) -> str | None:
    """The text, None for bytes that are no text. With `html`, the charset that the page declares is tried."""
    for bom, encoding in BOMS:
        if raw.startswith(bom):
            return _try_decode(raw, encoding)
    if b"\0" in raw[:SAMPLE_BYTES]:
        return _decode_utf16(raw)
    declared = DECLARED_CHARSET.search(raw[:4096]) if html else None
    return _try_decode(raw, "utf-8") or (declared and _try_decode(raw, declared[1].decode())) or _decode_code_page(raw)


def _try_decode(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_utf16(raw: bytes) -> str | None:
    """Decodes UTF-16 without byte order mark: nearly every second byte is zero, always the same one of the pair."""
    sample = raw[: SAMPLE_BYTES // 2 * 2]
    high, low, half = sample[1::2].count(0), sample[0::2].count(0), len(sample) // 2
    if high > 0.6 * half and not low:
        return _try_decode(raw, "utf-16-le")
    return _try_decode(raw, "utf-16-be") if low > 0.6 * half and not high else None


def _decode_code_page(raw: bytes) -> str | None:
    """Decodes an 8-bit code page: cp1252 if that gives plausible western text, else the most likely one."""
    western = _try_decode(raw, "cp1252")
    if western and _is_plausible(western[:SAMPLE_BYTES]):
        return western
    from charset_normalizer import from_bytes

    best = from_bytes(raw[:SAMPLE_BYTES], cp_isolation=CODE_PAGES).best()
    text = raw.decode(best.encoding, errors="replace") if best else western
    return text if text and _is_mostly_text(text[:SAMPLE_BYTES]) else None


def _is_plausible(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    accented = sum(char > "\x7f" for char in letters)
    return accented <= 0.4 * len(letters) and _is_mostly_text(text) and not SUSPICIOUS_IN_WORD.search(text)


def _is_mostly_text(text: str) -> bool:
    return sum(char < " " and char not in "\t\n\r\f" for char in text) <= len(text) / 500
