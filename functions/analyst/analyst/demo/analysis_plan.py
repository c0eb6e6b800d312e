"""Plans the analyses that answer a question."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from analyst.demo.analysis import Analysis, comparison, correlation, count_analysis, distribution, trend
from analyst.demo.question import (
    COUNT_WORDS,
    RELATION_WORDS,
    SPREAD_WORDS,
    TIME_WORDS,
    TREND_WORDS,
    Clause,
    split_clauses,
)
from analyst.demo.tool_results import Table
from analyst.sql.identifiers import make_distinct

MAX_ANALYSES = 4
MAX_ROWS_FOR_POINTS = 60
MEAN = ("AVG", "mean")


def choose_table(question: str, tables: Sequence[Table]) -> Table:
    """The table with the most columns that the question names; among equals the first."""
    return max(tables, key=lambda table: sum(len(clause.columns) for clause in split_clauses(question, table.columns)))


def plan_analyses(question: str, table: Table) -> list[Analysis]:
    """At most MAX_ANALYSES distinct analyses; an overview if the question names no column of the table."""
    analyses = [
        analysis for clause in split_clauses(question, table.columns) for analysis in _analyses_of_clause(clause, table)
    ]
    distinct = {analysis.title: analysis for analysis in analyses or _overview_analyses(table)}
    selected = list(distinct.values())[:MAX_ANALYSES]
    names = make_distinct(_slug(analysis.title) for analysis in selected)
    return [replace(analysis, name=name) for analysis, name in zip(selected, names, strict=True)]


def _slug(title: str) -> str:
    return re.sub(r"[\W_]+", "-", title.lower())[:50].strip("-")


def _analyses_of_clause(clause: Clause, table: Table) -> list[Analysis]:
    named_times = [column for column in clause.columns if column.is_time]
    times = named_times or [column for column in table.columns if column.is_time and clause.mentions_any(TIME_WORDS)]
    over_time = bool(times) and clause.mentions_any(TREND_WORDS)
    # Integers with few values, such as ratings, are groups unless the question asks for their mean.
    measures = [column for column in clause.columns if column.is_measure and (clause.aggregate or not column.is_group)]
    others = [column for column in clause.columns if column not in measures]
    groups = [column for column in others if column.is_group and not (over_time and column in times)]
    function, word = clause.aggregate or MEAN
    first = groups[0] if groups else None
    if over_time:
        return [trend(table, times[0], measures[0] if measures else None, function, word)]
    if len(measures) > 1 and (clause.mentions_any(RELATION_WORDS) or not groups):
        return [correlation(table, measures[0], measures[1], first)]
    if measures and (clause.mentions_any(SPREAD_WORDS) or not groups):
        return [distribution(table, measure, first) for measure in measures]
    crossed = groups[:2] if math.prod(group.distinct for group in groups[:2]) <= MAX_ROWS_FOR_POINTS else groups[:1]
    if measures:
        return [comparison(table, measure, crossed, function, word) for measure in measures]
    if groups:
        return [count_analysis(table, crossed if clause.mentions_any(COUNT_WORDS) else groups[:1])]
    return [trend(table, times[0], None, *MEAN)] if times else []


def _overview_analyses(table: Table) -> list[Analysis]:
    groups = [column for column in table.columns if column.is_group and column.type in {"text", "boolean"}]
    measures = [column for column in table.columns if column.is_measure and not column.is_group]
    times = [column for column in table.columns if column.is_time and not column.is_group]
    analyses = [count_analysis(table, [group]) for group in groups[:1]]
    analyses += [distribution(table, measure, None) for measure in measures[:1]]
    analyses += [comparison(table, measures[0], groups[:1], *MEAN)] if measures and groups else []
    analyses += [trend(table, times[0], measures[0] if measures else None, *MEAN)] if times else []
    return analyses
