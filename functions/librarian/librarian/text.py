"""Normalizes text from files, so that texts that look the same compare equal in a search."""

import re
import unicodedata

# Ligatures and presentation forms of Hebrew and Arabic: one character for the shape of one or more letters.
PRESENTATION_FORMS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
SOFT_HYPHEN_BREAK = re.compile("\u00ad[ \\t]*\\n[ \\t]*")
# Soft hyphens, direction marks and other zero-width characters. ZWNJ and ZWJ stay: some scripts need them.
INVISIBLE_CHARS = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")
CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
SPACES = re.compile("[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
LINE_ENDS = re.compile("\r\n?|\u2028|\u2029|\x85")


def clean_text(text: str) -> str:
    """Replaces ligatures by letters, removes invisible characters, unifies spaces and line ends."""
    text = LINE_ENDS.sub("\n", text)
    text = PRESENTATION_FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = INVISIBLE_CHARS.sub("", SOFT_HYPHEN_BREAK.sub("", text))
    text = SPACES.sub(" ", CONTROL_CHARS.sub("", text))
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())


def tidy_text(text: str) -> str:
    """Cleans text and removes spaces at line ends, gaps of more than three spaces and repeated empty lines."""
    lines = [re.sub(r" {3,}", "   ", line.strip()) for line in clean_text(text).replace("\f", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def flatten_lines(text: str) -> str:
    """The text on one line, with words joined that were hyphenated at line ends."""
    return " ".join(re.sub(r"(?<=[^\W\d_])-\n(?=[a-zà-ÿ])", "", text).split())


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut between words."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rsplit(' ', 1)[0]}…"
