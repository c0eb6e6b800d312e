"""From a question and the tables at hand to the analyses that answer it."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from analyst.demo.analysis import Analysis, compare, count, relation, spread, trend
from analyst.demo.question import COUNT, RELATION, SPREAD, TIME, TREND, Clause, clauses
from analyst.demo.tool_results import Table
from analyst.sql.identifiers import distinct

MOST = 4
MOST_ROWS = 60
MEAN = ("AVG", "mean")


def choose(question: str, tables: Sequence[Table]) -> Table:
    """The table whose columns the question names most; the first of equals."""
    return max(tables, key=lambda table: sum(len(clause.columns) for clause in clauses(question, table.columns)))


def plan(question: str, table: Table) -> list[Analysis]:
    """At most MOST analyses, each once; an overview where the question names nothing that the table has."""
    found = [analysis for clause in clauses(question, table.columns) for analysis in _answers(clause, table)]
    different = {analysis.title: analysis for analysis in found or _overview(table)}
    chosen = list(different.values())[:MOST]
    names = distinct(_slug(analysis.title) for analysis in chosen)
    return [replace(analysis, name=name) for analysis, name in zip(chosen, names, strict=True)]


def _slug(title: str) -> str:
    return re.sub(r"[\W_]+", "-", title.lower())[:50].strip("-")


def _answers(clause: Clause, table: Table) -> list[Analysis]:
    named = [column for column in clause.columns if column.is_time]
    times = named or [column for column in table.columns if column.is_time and clause.wants(TIME)]
    over_time = bool(times) and clause.wants(TREND)
    # A few whole numbers, such as ratings, are groups unless their mean is asked for.
    measures = [column for column in clause.columns if column.is_measure and (clause.measure or not column.is_group)]
    others = [column for column in clause.columns if column not in measures]
    groups = [column for column in others if column.is_group and not (over_time and column in times)]
    function, word = clause.measure or MEAN
    first = groups[0] if groups else None
    if over_time:
        return [trend(table, times[0], measures[0] if measures else None, function, word)]
    if len(measures) > 1 and (clause.wants(RELATION) or not groups):
        return [relation(table, measures[0], measures[1], first)]
    if measures and (clause.wants(SPREAD) or not groups):
        return [spread(table, measure, first) for measure in measures]
    crossed = groups[:2] if math.prod(group.distinct for group in groups[:2]) <= MOST_ROWS else groups[:1]
    if measures:
        return [compare(table, measure, crossed, function, word) for measure in measures]
    if groups:
        return [count(table, crossed if clause.wants(COUNT) else groups[:1])]
    return [trend(table, times[0], None, *MEAN)] if times else []


def _overview(table: Table) -> list[Analysis]:
    groups = [column for column in table.columns if column.is_group and column.type in {"text", "boolean"}]
    measures = [column for column in table.columns if column.is_measure and not column.is_group]
    times = [column for column in table.columns if column.is_time and not column.is_group]
    analyses = [count(table, [group]) for group in groups[:1]]
    analyses += [spread(table, measure, None) for measure in measures[:1]]
    analyses += [compare(table, measures[0], groups[:1], *MEAN)] if measures and groups else []
    analyses += [trend(table, times[0], measures[0] if measures else None, *MEAN)] if times else []
    return analyses
