"""The analyst agent: answers questions about tables with a report and charts."""

import os
from pathlib import Path

from agentfn import Agent, Skill, serve
from analyst.demo.demo_rules import demo_model
from analyst.tools import TOOLS

agent = Agent(
    name="analyst",
    description="Answers questions about tables (CSV, JSON lines, .xlsx): queries them, draws charts, writes a report.",
    version="0.1.0",
    instructions=Path(__file__).with_name("instructions.md"),
    tools=TOOLS,
    skills=[
        Skill(
            id="analyse",
            name="Analyse tables",
            description="Looks at the attached tables, queries them with SQL, draws charts and writes a report "
            "as Markdown and self-contained HTML.",
            tags=("data", "csv", "sql", "charts", "report"),
            examples=("How does mean body mass differ by species and sex? Chart it and write a report.",),
        )
    ],
    models={"demo": lambda: demo_model(pause=float(os.environ.get("DEMO_PAUSE") or 0))},
    input_modes=(
        "text/plain",
        "text/csv",
        "application/json",
        "application/x-ndjson",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/octet-stream",
    ),
    output_modes=("text/plain", "text/markdown", "text/html", "text/csv", "image/svg+xml"),
)
handler = serve(agent)
