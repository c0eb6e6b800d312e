"""Sentences about results. Every number comes from a query, or is a sum or difference of such numbers."""

import re
from dataclasses import dataclass

from analyst.demo.analysis import Analysis
from analyst.demo.tool_results import parse_rows

MAX_LISTED = 12
SHOWN_ROWS = re.compile(r"The first (\d+) are shown")


@dataclass(frozen=True)
class Finding:
    """An analysis with its result table, the name of its chart ('' if none) and the number of excluded rows."""

    analysis: Analysis
    table: str
    chart: str = ""
    excluded_rows: int = 0

    def sentence(self) -> str:
        lines = parse_rows(self.table)
        if not lines:
            return f"{self.analysis.title}: no rows."
        limited = SHOWN_ROWS.search(self.table)
        sentence = SENTENCES[self.analysis.kind](self.analysis, lines)
        return f"Among the first {limited[1]} rows of the result: {sentence}" if limited else sentence

    def caution(self) -> str:
        if not self.excluded_rows:
            return ""
        columns = " or ".join(column.phrase for column in self.analysis.columns_with_missing)
        verb = "row is" if self.excluded_rows == 1 else "rows are"
        return f"{self.excluded_rows} {verb} left out because {columns} is missing."


def _count_sentence(analysis: Analysis, lines: list[list[str]]) -> str:
    total = sum(int(line[-2]) for line in lines)
    parts = [f"{_group_label(line[:-2])} {line[-2]} ({line[-1]}%)" for line in lines[:MAX_LISTED]]
    noun = analysis.title.split(" by ")[0].removeprefix("Number of ")
    by = " and ".join(group.phrase for group in analysis.groups)
    return f"There are {total} {noun}. By {by}: {_join_listed(parts, lines)}."


def _comparison_sentence(analysis: Analysis, lines: list[list[str]]) -> str:
    ordered = sorted(lines, key=lambda line: float(line[-1]))
    low, high = ordered[0], ordered[-1]
    parts = [f"{_group_label(line[:-2])} {line[-1]} (n = {line[-2]})" for line in lines[:MAX_LISTED]]
    text = f"{analysis.title}: {_join_listed(parts, lines)}."
    if len(lines) == 1:
        return text
    gap = float(high[-1]) - float(low[-1])
    highest, lowest = _group_label(high[:-2]), _group_label(low[:-2])
    return f"{text} It is highest for {highest} and lowest for {lowest}, a difference of {gap:.6g}."


def _distribution_sentence(analysis: Analysis, lines: list[list[str]]) -> str:
    number, lowest, first, median, mean, third, highest, _deviation = lines[0]
    value = analysis.value.phrase if analysis.value else ""
    return (
        f"{value.capitalize()} runs from {lowest} to {highest} (n = {number}); the median is {median}, "
        f"the mean {mean}, and the middle half lies between {first} and {third}."
    )


def _correlation_sentence(analysis: Analysis, lines: list[list[str]]) -> str:
    _all, number, correlation = lines[0]
    value = analysis.value.phrase if analysis.value else ""
    if not correlation:
        return f"{analysis.title}: there is no correlation to compute (n = {number})."
    size = abs(float(correlation))
    strength = "strong" if size >= 0.7 else "moderate" if size >= 0.4 else "weak" if size >= 0.1 else "hardly any"
    within = [f"{name} {of} (n = {n})" for name, n, of in lines[1 : MAX_LISTED + 1]]
    groups = f" Within the groups: {', '.join(within)}." if within else ""
    return (
        f"The correlation of {analysis.label} and {value} is {correlation} (n = {number}): {strength}.{groups} "
        "Going together is not yet cause and effect."
    )


def _trend_sentence(analysis: Analysis, lines: list[list[str]]) -> str:
    first, last = lines[0], lines[-1]
    top = max(lines, key=lambda line: float(line[-1]))
    return (
        f"{analysis.title}: {first[-1]} in {first[0]}, {last[-1]} in {last[0]}; the highest is {top[-1]} in {top[0]}."
    )


SENTENCES = {
    "count": _count_sentence,
    "compare": _comparison_sentence,
    "spread": _distribution_sentence,
    "relation": _correlation_sentence,
    "trend": _trend_sentence,
}


def _group_label(cells: list[str]) -> str:
    return " ".join(cell or "(empty)" for cell in cells)


def _join_listed(parts: list[str], lines: list[list[str]]) -> str:
    more = f" and {len(lines) - len(parts)} more" if len(lines) > len(parts) else ""
    return f"{'; '.join(parts)}{more}"
