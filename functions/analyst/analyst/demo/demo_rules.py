"""The analyst's demo model: it runs a whole task without a language model, a key or a network.

Its rules read the tool results so far and make the next calls, so a task can continue in another process at any point.
The log, the report and the answer say that no language model was used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentfn.models import Conversation, ModelRequest, ModelResponse, RuleBasedModel, ToolStep
from analyst.demo import demo_report, tool_results
from analyst.demo.analysis import Analysis
from analyst.demo.analysis_plan import choose_table, plan_analyses
from analyst.demo.findings import Finding

MAX_FILES = 5
NO_TABLE_QUESTION = "Please attach a table: a CSV file, JSON lines or an .xlsx workbook."


def demo_model(pause: float = 0.0) -> RuleBasedModel:
    """The model, which waits `pause` seconds before each response."""
    warning = f"the demo model answers: rules, not a language model. {demo_report.MODEL_HINT}"
    return RuleBasedModel(next_response, warning=warning, pause=pause)


def next_response(request: ModelRequest) -> ModelResponse:
    """The next tool calls, or the final answer when all of them have results."""
    conversation = Conversation.from_request(request)
    if not conversation.calls_of("list_files") and conversation.tool_names:
        return conversation.call_tools([("list_files", {})], "Looking at the files.")
    names = [name for call in conversation.calls_of("list_files") for name in tool_results.parse_file_names(call.text)]
    previews: list[ToolStep] = [("preview_table", {"file": name}) for name in names[:MAX_FILES]]
    if steps := conversation.pending_steps(previews):
        return conversation.call_tools(steps)
    tables = [
        table for call in conversation.calls_of("preview_table") for table in tool_results.parse_tables(call.text)
    ]
    if not tables:
        return conversation.ask_user(" ".join(conversation.errors) or NO_TABLE_QUESTION, demo_report.DEMO_NOTICE)
    progress = AnalysisProgress.start(conversation, tables)
    for steps, text in progress.stages():
        if pending := conversation.pending_steps(steps):
            return conversation.call_tools(pending, text)
    is_written = any(not call.error for call in conversation.calls_of("write_report"))
    return ModelResponse(demo_report.final_answer(progress.findings, conversation.errors, is_written))


@dataclass(frozen=True)
class AnalysisProgress:
    """The analyses planned for a question, and the results they have so far."""

    conversation: Conversation
    question: str
    table: tool_results.Table
    other_tables: tuple[tool_results.Table, ...]
    analyses: tuple[Analysis, ...]

    @classmethod
    def start(cls, conversation: Conversation, tables: Sequence[tool_results.Table]) -> "AnalysisProgress":
        question = "\n".join(filter(None, conversation.user_texts))
        table = choose_table(question, tables)
        other_tables = tuple(other for other in tables if other is not table)
        return cls(conversation, question, table, other_tables, tuple(plan_analyses(question, table)))

    def stages(self) -> list[tuple[list[ToolStep], str]]:
        """The steps of each stage and its progress text. A stage needs the results of the stage before."""
        computed = [analysis for analysis in self.analyses if self._result_table(analysis)]
        return [
            (self._query_steps(), f"Querying {self.table.name}."),
            ([_chart_step(analysis) for analysis in computed], "Drawing the charts."),
            ([self._report_step()], "Writing the report."),
        ]

    @property
    def findings(self) -> list[Finding]:
        return [self._make_finding(analysis) for analysis in self.analyses if self._result_table(analysis)]

    def _query_steps(self) -> list[ToolStep]:
        queries: list[ToolStep] = [
            ("run_sql", {"sql": analysis.sql, "save_as": analysis.name}) for analysis in self.analyses
        ]
        counts = dict.fromkeys(analysis.missing_rows_sql for analysis in self.analyses if analysis.missing_rows_sql)
        return [*queries, *(("run_sql", {"sql": sql}) for sql in counts)]

    def _report_step(self) -> ToolStep:
        """The report. It leaves out the error of an earlier `write_report`, so that this step stays the same."""
        calls = self.conversation.completed_calls
        errors = [call.error for call in calls if call.error and call.name != "write_report"]
        text = demo_report.report_markdown(self.question, self.table, self.other_tables, self.findings, errors)
        return "write_report", {"title": demo_report.report_title(self.table), "markdown": text}

    def _result_table(self, analysis: Analysis) -> str:
        call = self.conversation.call_with("run_sql", {"sql": analysis.sql})
        return "" if call is None or call.error else call.text

    def _make_finding(self, analysis: Analysis) -> Finding:
        count = self.conversation.call_with("run_sql", {"sql": analysis.missing_rows_sql})
        chart = self.conversation.call_with("make_chart", {"name": analysis.name})
        return Finding(
            analysis,
            self._result_table(analysis),
            tool_results.parse_chart_name(chart.text) if chart else "",
            int(tool_results.parse_rows(count.text)[0][0]) if count and not count.error else 0,
        )


def _chart_step(analysis: Analysis) -> ToolStep:
    chart = analysis.chart
    axes = {"x": chart.x, "y": chart.y, "series": chart.series}
    columns = {name: column for name, column in axes.items() if column}
    sql = chart.sql or analysis.sql
    return "make_chart", {"kind": chart.kind, "sql": sql, "title": analysis.title, "name": analysis.name, **columns}
