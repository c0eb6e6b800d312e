"""Parses the texts of tool results: files, tables with their columns, rows."""

import re
from dataclasses import dataclass

FILE_LINE = re.compile(r"^- (?P<name>.+) \([^()]*, [\d,]+ bytes\)$", re.MULTILINE)
CHART_LINE = re.compile(r"(\S+\.svg): ")
TABLE_LINE = re.compile(
    r"^Table (?P<name>\w+) \(from (?P<source>.*)\): (?P<rows>[\d,]+) rows, \d+ columns\.$", re.MULTILINE
)
UNIT_WORDS = frozenset(
    {"mm", "cm", "m", "km", "g", "kg", "mg", "t", "l", "ml", "s", "sec", "h", "usd", "eur", "pct", "c"}
)
TIME_WORDS = frozenset({"year", "month", "week", "day", "date", "quarter"})
MAX_GROUP_VALUES = 12


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    missing: int
    distinct: int

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the name in lower case, without a unit at the end."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name)
        words = [word.lower() for word in re.split(r"[\W_]+", spaced) if word]
        return tuple(words[:-1] if len(words) > 1 and words[-1] in UNIT_WORDS else words)

    @property
    def phrase(self) -> str:
        """The column as a sentence names it: body mass (g)."""
        name_words = [word for word in re.split(r"[\W_]+", self.name) if word]
        unit = f" ({name_words[-1]})" if len(name_words) > len(self.words) else ""
        return f"{' '.join(self.words)}{unit}"

    @property
    def is_time(self) -> bool:
        return self.type == "date" or (self.type == "integer" and bool(TIME_WORDS & set(self.words)))

    @property
    def is_group(self) -> bool:
        """Whether it has few enough values to compare them."""
        limit = 30 if self.type in {"text", "boolean"} else MAX_GROUP_VALUES
        return self.type != "real" and 1 < self.distinct <= limit

    @property
    def is_measure(self) -> bool:
        return self.type in {"integer", "real"} and not self.is_time and "id" not in self.words and self.distinct > 1


@dataclass(frozen=True)
class Table:
    name: str
    source: str
    rows: int
    columns: tuple[Column, ...]

    @property
    def noun(self) -> str:
        """What the rows are, if the table's name says it: penguins.csv holds penguins."""
        return self.name.lower() if re.fullmatch(r"[A-Za-z]{3,}s", self.name) else "rows"


def parse_file_names(text: str) -> list[str]:
    return [match["name"] for match in FILE_LINE.finditer(text)]


def parse_chart_name(text: str) -> str:
    """The name of the chart that was drawn, '' if none."""
    match = CHART_LINE.match(text)
    return match[1] if match else ""


def parse_tables(preview: str) -> list[Table]:
    headers = list(TABLE_LINE.finditer(preview))
    body_ends = [header.start() for header in headers[1:]] + [len(preview)]
    return [
        _parse_table(header, preview[header.end() : body_end])
        for header, body_end in zip(headers, body_ends, strict=False)
    ]


def _parse_table(head: re.Match[str], body: str) -> Table:
    columns = [Column(row[0], row[1], int(row[2]), int(row[3])) for row in parse_rows(body)]
    return Table(head["name"], head["source"], int(head["rows"].replace(",", "")), tuple(columns))


def parse_rows(text: str) -> list[list[str]]:
    """The rows of the first Markdown table in a text, without its header."""
    return [_split_cells(line) for line in find_markdown_table(text).splitlines()[2:]]


def find_markdown_table(text: str) -> str:
    """The first Markdown table in a text, unchanged."""
    match = re.search(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    return match[0].strip() if match else ""


def _split_cells(line: str) -> list[str]:
    inner = re.split(r"(?<!\\)\|", line.strip()[1:-1])
    return [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in inner]
