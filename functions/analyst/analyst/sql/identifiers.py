"""SQL identifiers that need no quotes, for tables and columns."""

import re
import unicodedata
from collections.abc import Iterable

# The words that SQLite refuses as a bare column name (tried one by one on SQLite 3.40).
SQL_KEYWORDS = """add all alter and as autoincrement between case cast check collate commit constraint create
current_date current_time current_timestamp default deferrable delete distinct drop else escape except exists
foreign from group having in index insert intersect into is isnull join limit not nothing notnull null on or
order primary raise references returning select set table then to transaction union unique update using values
when where"""
RESERVED_NAMES = frozenset(SQL_KEYWORDS.split())
MAX_IDENTIFIER_CHARS = 60


def identifier(text: str, otherwise: str) -> str:
    """`text` as an unquoted SQL name, in any script. Returns `otherwise` if nothing is left of it."""
    plain = unicodedata.normalize("NFKC", text)
    name = re.sub(r"\W+", "_", plain).strip("_")[:MAX_IDENTIFIER_CHARS].rstrip("_")
    if not name:
        return otherwise
    if name[0].isdigit():
        name = f"n{name}"
    return f"{name}_" if name.lower() in RESERVED_NAMES or name.lower().startswith("sqlite_") else name


def make_distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Appends `_2`, `_3` … to repeated names. SQL ignores case, so case is ignored here."""
    used: set[str] = set()
    result = []
    for name in names:
        candidate, number = name, 1
        while candidate.casefold() in used:
            number += 1
            candidate = f"{name}_{number}"
        used.add(candidate.casefold())
        result.append(candidate)
    return tuple(result)
