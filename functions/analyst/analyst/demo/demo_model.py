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

from agentfn.models import Call, Prompt, Reply
from analyst.demo import demo_report, tool_results
from analyst.demo.analysis import Analysis
from analyst.demo.analysis_plan import choose, plan
from analyst.demo.conversation import Story
from analyst.demo.findings import Finding

logger = logging.getLogger("agentfn.demo")

MOST_FILES = 5
WANTED = "Please attach a table: a CSV file, JSON lines or an .xlsx workbook."
# A tool and its arguments.
Step = tuple[str, dict[str, Any]]


class DemoModel:
    """A door to no model at all. `pause` is how many seconds it waits before each reply."""

    name = "demo"

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._announced = False

    async def ask(self, prompt: Prompt) -> Reply:
        if not self._announced:
            self._announced = True
            logger.warning("the demo model answers: rules, not a language model. %s", demo_report.REMEDY)
        await asyncio.sleep(self._pause)
        return reply(Story.of(prompt))


def reply(story: Story) -> Reply:
    """The next step of the work: what has been answered decides."""
    if not story.results("list_files") and story.tools:
        return _calls(story, [("list_files", {})], "Looking at the files.")
    names = [name for answer in story.results("list_files") for name in tool_results.files(answer.text)]
    previews: list[Step] = [("preview_table", {"file": name}) for name in names[:MOST_FILES]]
    if steps := _open(story, previews):
        return _calls(story, steps)
    tables = [table for answer in story.results("preview_table") for table in tool_results.tables(answer.text)]
    if not tables:
        return _ask(story, [answer.error for answer in story.answered if answer.error])
    work = Work.on(story, tables)
    for steps, progress in work.stages():
        if left := _open(story, steps):
            return _calls(story, left, progress)
    written = any(not answer.error for answer in story.results("write_report"))
    return Reply(demo_report.answer(work.findings, work.failed, written))


@dataclass(frozen=True)
class Work:
    """The plan for a question, and how far it has come."""

    story: Story
    table: tool_results.Table
    others: tuple[tool_results.Table, ...]
    analyses: tuple[Analysis, ...]

    @classmethod
    def on(cls, story: Story, tables: Sequence[tool_results.Table]) -> "Work":
        table = choose(story.question, tables)
        others = tuple(other for other in tables if other is not table)
        return cls(story, table, others, tuple(plan(story.question, table)))

    def stages(self) -> list[tuple[list[Step], str]]:
        """Each stage's calls depend on the answers of the stage before."""
        good = [analysis for analysis in self.analyses if self._table(analysis)]
        return [
            (self._queries(), f"Querying {self.table.name}."),
            ([_chart(analysis) for analysis in good], "Drawing the charts."),
            ([self._report()], "Writing the report."),
        ]

    def _queries(self) -> list[Step]:
        tables: list[Step] = [
            ("run_sql", {"sql": analysis.sql, "save_as": analysis.name}) for analysis in self.analyses
        ]
        unknown = dict.fromkeys(analysis.unknown for analysis in self.analyses if analysis.unknown)
        return [*tables, *(("run_sql", {"sql": sql}) for sql in unknown)]

    def _report(self) -> Step:
        """A report that failed is not written again: its own failure is no part of it."""
        failed = [answer.error for answer in self.story.answered if answer.error and answer.name != "write_report"]
        text = demo_report.report(self.story.question, self.table, self.others, self.findings, failed)
        return "write_report", {"title": demo_report.title(self.table), "markdown": text}

    @property
    def findings(self) -> list[Finding]:
        return [self._finding(analysis) for analysis in self.analyses if self._table(analysis)]

    @property
    def failed(self) -> list[str]:
        return [answer.error for answer in self.story.answered if answer.error]

    def _table(self, analysis: Analysis) -> str:
        answer = self.story.result("run_sql", {"sql": analysis.sql})
        return "" if answer is None or answer.error else answer.text

    def _finding(self, analysis: Analysis) -> Finding:
        check = self.story.result("run_sql", {"sql": analysis.unknown})
        drawn = self.story.result("make_chart", {"name": analysis.name})
        chart = tool_results.chart(drawn.text) if drawn else ""
        left_out = int(tool_results.rows(check.text)[0][0]) if check and not check.error else 0
        return Finding(analysis, self._table(analysis), chart, left_out)


def _chart(analysis: Analysis) -> Step:
    drawing = analysis.drawing
    axes = {"x": drawing.x, "y": drawing.y, "series": drawing.series}
    named = {name: column for name, column in axes.items() if column}
    sql = drawing.sql or analysis.sql
    return "make_chart", {"kind": drawing.kind, "sql": sql, "title": analysis.title, "name": analysis.name, **named}


def _open(story: Story, steps: Sequence[Step]) -> list[Step]:
    """Those of the steps that can be taken and have no answer yet."""
    return [(name, given) for name, given in steps if name in story.tools and not story.result(name, given)]


def _calls(story: Story, steps: Sequence[Step], progress: str = "") -> Reply:
    told = [("report_progress", {"text": progress})] if progress and "report_progress" in story.tools else []
    calls = enumerate([*told, *steps], story.made + 1)
    made = tuple(Call(f"demo_{number}", name, json.dumps(given)) for number, (name, given) in calls)
    return Reply(calls=made, finish="tool_calls")


def _ask(story: Story, reasons: Sequence[str]) -> Reply:
    question = " ".join(reasons) or WANTED
    if "ask_user" in story.tools:
        return _calls(story, [("ask_user", {"question": question})])
    return Reply(f"{question} {demo_report.NOTICE}")
