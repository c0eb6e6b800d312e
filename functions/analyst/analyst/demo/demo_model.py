"""The demo model: shows the whole path of a task without a language model, a key or a network.

It is a handful of rules. It looks at what the tools have answered so far and makes the next call, so it can go on in
another process at any point. It says that it is no language model in the log, in the report and in its answer.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentfn.models import ModelRequest, ModelResponse, ToolCall
from analyst.demo import demo_report, tool_results
from analyst.demo.analysis import Analysis
from analyst.demo.analysis_plan import choose_table, plan_analyses
from analyst.demo.conversation import Conversation
from analyst.demo.findings import Finding

logger = logging.getLogger("agentfn.demo")

MAX_FILES = 5
NO_TABLE_QUESTION = "Please attach a table: a CSV file, JSON lines or an .xlsx workbook."
# A tool and its arguments.
ToolStep = tuple[str, dict[str, Any]]


class DemoModel:
    """A door to no model at all. `pause` is how many seconds it waits before each reply."""

    name = "demo"

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._announced = False

    async def generate(self, request: ModelRequest) -> ModelResponse:
        if not self._announced:
            self._announced = True
            logger.warning("the demo model answers: rules, not a language model. %s", demo_report.MODEL_HINT)
        await asyncio.sleep(self._pause)
        return next_response(Conversation.from_request(request))


def next_response(conversation: Conversation) -> ModelResponse:
    """The next step of the work: what has been answered decides."""
    if not conversation.calls_of("list_files") and conversation.tool_names:
        return _call_tools(conversation, [("list_files", {})], "Looking at the files.")
    names = [
        name for answer in conversation.calls_of("list_files") for name in tool_results.parse_file_names(answer.text)
    ]
    previews: list[ToolStep] = [("preview_table", {"file": name}) for name in names[:MAX_FILES]]
    if steps := _pending_steps(conversation, previews):
        return _call_tools(conversation, steps)
    tables = [
        table for answer in conversation.calls_of("preview_table") for table in tool_results.parse_tables(answer.text)
    ]
    if not tables:
        return _ask_user(conversation, [answer.error for answer in conversation.completed_calls if answer.error])
    work = AnalysisProgress.start(conversation, tables)
    for steps, progress in work.stages():
        if left := _pending_steps(conversation, steps):
            return _call_tools(conversation, left, progress)
    written = any(not answer.error for answer in conversation.calls_of("write_report"))
    return ModelResponse(demo_report.final_answer(work.findings, work.errors, written))


@dataclass(frozen=True)
class AnalysisProgress:
    """The plan for a question, and how far it has come."""

    conversation: Conversation
    table: tool_results.Table
    other_tables: tuple[tool_results.Table, ...]
    analyses: tuple[Analysis, ...]

    @classmethod
    def start(cls, story: Conversation, tables: Sequence[tool_results.Table]) -> "AnalysisProgress":
        table = choose_table(story.question, tables)
        others = tuple(other for other in tables if other is not table)
        return cls(story, table, others, tuple(plan_analyses(story.question, table)))

    def stages(self) -> list[tuple[list[ToolStep], str]]:
        """Each stage's calls depend on the answers of the stage before."""
        good = [analysis for analysis in self.analyses if self._result_table(analysis)]
        return [
            (self._query_steps(), f"Querying {self.table.name}."),
            ([_chart_step(analysis) for analysis in good], "Drawing the charts."),
            ([self._report_step()], "Writing the report."),
        ]

    def _query_steps(self) -> list[ToolStep]:
        tables: list[ToolStep] = [
            ("run_sql", {"sql": analysis.sql, "save_as": analysis.name}) for analysis in self.analyses
        ]
        unknown = dict.fromkeys(analysis.missing_rows_sql for analysis in self.analyses if analysis.missing_rows_sql)
        return [*tables, *(("run_sql", {"sql": sql}) for sql in unknown)]

    def _report_step(self) -> ToolStep:
        """A report that failed is not written again: its own failure is no part of it."""
        failed = [
            answer.error
            for answer in self.conversation.completed_calls
            if answer.error and answer.name != "write_report"
        ]
        text = demo_report.report_markdown(
            self.conversation.question, self.table, self.other_tables, self.findings, failed
        )
        return "write_report", {"title": demo_report.report_title(self.table), "markdown": text}

    @property
    def findings(self) -> list[Finding]:
        return [self._make_finding(analysis) for analysis in self.analyses if self._result_table(analysis)]

    @property
    def errors(self) -> list[str]:
        return [answer.error for answer in self.conversation.completed_calls if answer.error]

    def _result_table(self, analysis: Analysis) -> str:
        answer = self.conversation.call_with("run_sql", {"sql": analysis.sql})
        return "" if answer is None or answer.error else answer.text

    def _make_finding(self, analysis: Analysis) -> Finding:
        check = self.conversation.call_with("run_sql", {"sql": analysis.missing_rows_sql})
        drawn = self.conversation.call_with("make_chart", {"name": analysis.name})
        chart = tool_results.parse_chart_name(drawn.text) if drawn else ""
        left_out = int(tool_results.parse_rows(check.text)[0][0]) if check and not check.error else 0
        return Finding(analysis, self._result_table(analysis), chart, left_out)


def _chart_step(analysis: Analysis) -> ToolStep:
    drawing = analysis.chart
    axes = {"x": drawing.x, "y": drawing.y, "series": drawing.series}
    named = {name: column for name, column in axes.items() if column}
    sql = drawing.sql or analysis.sql
    return "make_chart", {"kind": drawing.kind, "sql": sql, "title": analysis.title, "name": analysis.name, **named}


def _pending_steps(story: Conversation, steps: Sequence[ToolStep]) -> list[ToolStep]:
    """Those of the steps that can be taken and have no answer yet."""
    return [(name, given) for name, given in steps if name in story.tool_names and not story.call_with(name, given)]


def _call_tools(story: Conversation, steps: Sequence[ToolStep], progress: str = "") -> ModelResponse:
    told = [("report_progress", {"text": progress})] if progress and "report_progress" in story.tool_names else []
    calls = enumerate([*told, *steps], story.call_count + 1)
    made = tuple(ToolCall(f"demo_{number}", name, json.dumps(given)) for number, (name, given) in calls)
    return ModelResponse(tool_calls=made, finish_reason="tool_calls")


def _ask_user(story: Conversation, reasons: Sequence[str]) -> ModelResponse:
    question = " ".join(reasons) or NO_TABLE_QUESTION
    if "ask_user" in story.tool_names:
        return _call_tools(story, [("ask_user", {"question": question})])
    return ModelResponse(f"{question} {demo_report.DEMO_NOTICE}")
