"""The demo model's report and final answer."""

import re
from collections.abc import Sequence

from analyst.demo.findings import Finding
from analyst.demo.tool_results import Table, find_markdown_table

DEMO_NOTICE = (
    "This was done by the demo model: a few rules, not a language model. It understands simple questions about "
    "counts, means, distributions, relations and trends, and nothing else."
)
MODEL_HINT = (
    "For a real analyst, set AGENT_MODEL (such as anthropic/claude-sonnet-4-5, with the key in AGENT_MODEL_API_KEY, or "
    "a bedrock/ model, which needs no key)."
)


def report_title(table: Table) -> str:
    """The title: the table's name. The report itself quotes the question."""
    return f"{table.name.replace('_', ' ').capitalize()}: what the table says"


def report_markdown(
    question: str, table: Table, other_tables: Sequence[Table], findings: Sequence[Finding], errors: Sequence[str]
) -> str:
    quoted = [f"> {_escape_markdown(line)}" for line in question.splitlines() if line.strip()]
    parts = [f"*{DEMO_NOTICE} {MODEL_HINT}*"]
    parts += ["## The question", "\n".join(quoted)] if quoted else []
    parts += ["## Findings", "\n".join(f"- {_escape_markdown(finding.sentence())}" for finding in findings)]
    for finding in findings:
        parts += _finding_section(finding)
    parts += ["## The data", _data_section(table, other_tables)]
    parts += ["## What failed", "\n".join(f"- {reason}" for reason in errors)] if errors else []
    queries = "\n\n".join(f"```sql\n{finding.analysis.sql}\n```" for finding in findings)
    return "\n\n".join([*parts, "## Method", "The tables above are the results of these queries:", queries])


def _finding_section(finding: Finding) -> list[str]:
    analysis = finding.analysis
    picture = f"![{analysis.title}]({finding.chart})" if finding.chart else ""
    caution = finding.caution()
    return list(filter(None, [f"## {analysis.title}", picture, find_markdown_table(finding.table), caution]))


def _data_section(table: Table, other_tables: Sequence[Table]) -> str:
    counts = [f"{column.name} {column.missing}" for column in table.columns if column.missing]
    missing = f"Missing values: {', '.join(counts)}." if counts else "No value is missing."
    summary = f"{table.source} holds {table.rows} rows and {len(table.columns)} columns. {missing}"
    if not other_tables:
        return summary
    names = ", ".join(f"{other.source} ({other.rows} rows)" for other in other_tables)
    return f"{summary} The demo model uses one table; not used: {names}."


def _escape_markdown(text: str) -> str:
    """Escapes Markdown's special characters."""
    return re.sub(r"[\\`*\[\]<>#|]", r"\\\g<0>", text)


def final_answer(findings: Sequence[Finding], errors: Sequence[str], is_written: bool) -> str:
    """The final message: key numbers, failures, where the report is, and that no language model was used."""
    lines = [f"- {' '.join(filter(None, [finding.sentence(), finding.caution()]))}" for finding in findings]
    lines += [f"- Failed: {reason}" for reason in errors]
    location = "The report is report.html (with the charts) and report.md." if is_written else "No report was written."
    return "\n\n".join(filter(None, ["\n".join(lines), location, f"{DEMO_NOTICE} {MODEL_HINT}"]))
