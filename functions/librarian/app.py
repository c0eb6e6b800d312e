"""The librarian agent: answers questions about packets of documents and cites the pages."""

import os
from pathlib import Path

from agentfn import Agent, Skill, serve
from librarian.demo.demo_rules import demo_model
from librarian.tools import PACKET_TOOLS

agent = Agent(
    name="librarian",
    description="Answers questions about packets of documents (PDF, Word, HTML, Markdown, text) and cites the pages.",
    version="0.1.0",
    instructions=Path(__file__).with_name("instructions.md"),
    tools=[PACKET_TOOLS],
    skills=[
        Skill(
            id="answer",
            name="Answer from documents",
            description="Finds what the attached documents say about a question, and cites item and pages.",
            tags=("documents", "pdf", "search", "citations"),
            examples=("How did the planning board vote on the Mill Street rezoning?",),
        ),
        Skill(
            id="summarise",
            name="Sum up a packet",
            description="Reads all of a packet of documents and sums it up part by part, with citations, as an answer "
            "or as a report in Markdown.",
            tags=("documents", "summary", "report"),
            examples=("Write a report on this packet.",),
        ),
    ],
    models={"demo": lambda: demo_model(pause=float(os.environ.get("DEMO_PAUSE") or 0))},
    input_modes=(
        "text/plain",
        "application/pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "text/html",
        "text/markdown",
        "application/octet-stream",
    ),
    output_modes=("text/plain", "text/markdown"),
)
handler = serve(agent)
