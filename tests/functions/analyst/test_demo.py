"""The demo model plays whole tasks, and every number it gives is one that can be computed without it."""

import asyncio
import csv
import io
import json
import logging
import re
import time
from collections import Counter, defaultdict
from statistics import correlation, fmean, median

import pytest

from agentfn import ToolError, tool
from agentfn.loop import LoopResult
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.models import ModelRequest, ToolCall, Turn
from agentfn.tools import ToolRegistry
from analyst.demo.demo_rules import demo_model
from analyst.tools import TOOLS
from functions.analyst.tool_harness import AGENT, ToolHarness

QUESTION = (
    "How many penguins of each species are there, and how does mean body mass differ by species and sex? "
    "Chart it and write a report."
)
MEANS = "mean-body-mass-g-by-species-and-sex"
COUNTS = "number-of-penguins-by-species"


def penguins() -> list[dict[str, str]]:
    with (AGENT / "data" / "penguins.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def masses() -> dict[tuple[str, str], list[float]]:
    """Body mass by species and sex, where all three are known."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in penguins():
        if "NA" not in (row["species"], row["sex"], row["body_mass_g"]):
            groups[row["species"], row["sex"]].append(float(row["body_mass_g"]))
    return groups


def numbers(column: str) -> list[float]:
    return [float(row[column]) for row in penguins() if row[column] != "NA"]


FLIPPERS = numbers("flipper_length_mm")


def ask(desk: ToolHarness, *turns: str | Turn) -> LoopResult:
    return desk.run_loop(demo_model(), TOOLS, *turns)


def produced(desk: ToolHarness) -> set[str]:
    return {info.name for info in desk.produced}


def table(desk: ToolHarness, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(desk.read(name), newline="")))[1:]


def test_the_question_of_the_readme_is_answered_with_the_numbers_of_the_file(penguin_desk: ToolHarness) -> None:
    result = ask(penguin_desk, f"{QUESTION}\n\nAttached files:\n- penguins.csv (text/csv, 15,241 bytes)")
    counts, means = Counter(row["species"] for row in penguins()), {k: fmean(v) for k, v in masses().items()}
    assert result.status == "completed"
    assert produced(penguin_desk) == {
        *(f"{COUNTS}.{kind}" for kind in ("csv", "svg")),
        *(f"{MEANS}.{kind}" for kind in ("csv", "svg")),
        "report.md",
        "report.html",
    }
    assert {row[0]: int(row[1]) for row in table(penguin_desk, f"{COUNTS}.csv")} == counts
    written = {(row[0], row[1]): float(row[3]) for row in table(penguin_desk, f"{MEANS}.csv")}
    assert written == {group: pytest.approx(mean, abs=0.006) for group, mean in means.items()}
    for text in (result.text, penguin_desk.read("report.md"), penguin_desk.read("report.html")):
        for species, count in counts.items():
            assert f"{species} {count} (" in text
        for group, mean in means.items():
            assert f"{' '.join(group)} {mean:.2f} (n = {len(masses()[group])})" in text
        assert "11 rows are left out because body mass (g) or sex is missing." in text
    assert penguin_desk.read("report.html").count("<svg") == 2
    assert "Attached files" not in penguin_desk.read("report.md")


def test_it_says_everywhere_that_it_is_rules_and_how_to_set_a_real_model(
    penguin_desk: ToolHarness, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("agentfn.demo")
    logger.addHandler(caplog.handler)
    try:
        result = ask(penguin_desk, QUESTION)
    finally:
        logger.removeHandler(caplog.handler)
    warned = [record for record in caplog.records if record.name == "agentfn.demo"]
    assert {record.getMessage() for record in warned} == {warned[0].getMessage()}
    assert warned[0].levelno == logging.WARNING
    for text in (warned[0].getMessage(), result.text, penguin_desk.read("report.md")):
        assert "not a language model" in text
        assert "AGENT_MODEL" in text
        assert "AGENT_MODEL_API_KEY" in text


def test_the_next_step_depends_on_the_transcript_alone(penguin_desk: ToolHarness) -> None:
    turns = ask(penguin_desk, QUESTION).transcript
    declared = (*ToolRegistry(TOOLS).declarations(), *LIFECYCLE_TOOLS.declarations())
    spoken = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
    assert len(spoken) == 6
    for place in spoken:
        reply = asyncio.run(demo_model().generate(ModelRequest("", tuple(turns[:place]), declared)))
        assert (reply.text, reply.tool_calls) == (turns[place].text, turns[place].tool_calls)
    ids = [call.id for turn in turns for call in turn.tool_calls]
    assert len(ids) == len(set(ids))


def test_half_answered_calls_are_made_again_and_no_others(penguin_desk: ToolHarness) -> None:
    """As a transcript is that lost some results: only what has no answer is asked for."""
    turns = ask(penguin_desk, QUESTION).transcript
    queries = next(turn for turn in turns if any(call.name == "run_sql" for call in turn.tool_calls))
    lost = next(call for call in queries.tool_calls if call.name == "run_sql")
    kept = tuple(
        turn for turn in turns[: turns.index(queries) + 1 + len(queries.tool_calls)] if turn.tool_call_id != lost.id
    )
    declared = tuple(ToolRegistry(TOOLS).declarations())
    reply = asyncio.run(demo_model().generate(ModelRequest("", kept, declared)))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("run_sql", lost.arguments)]


def test_without_a_file_it_asks_for_a_table_and_goes_on_when_one_comes(desk: ToolHarness) -> None:
    asked = ask(desk, QUESTION)
    assert (asked.status, asked.finish_reason) == ("input_required", "ask_user")
    assert "attach a table" in asked.text
    desk.attach("penguins.csv", (AGENT / "data" / "penguins.csv").read_bytes())
    result = ask(desk, *asked.transcript, "Here it is.")
    assert result.status == "completed"
    assert "Gentoo male 5484.84" in result.text


def test_a_file_that_is_no_table_is_explained_and_another_asked_for(desk: ToolHarness) -> None:
    desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    result = ask(desk, QUESTION)
    assert result.status == "input_required"
    assert result.text.startswith("photo.png cannot be read as a table: it is a picture.")


def test_without_tools_it_answers_in_text(penguin_desk: ToolHarness) -> None:
    turns = ask(penguin_desk, QUESTION).transcript
    closing = (*turns[:-1], Turn("user", "Tools are off. Give the best answer."))
    reply = asyncio.run(
        demo_model().generate(ModelRequest("", closing, tuple(ToolRegistry(TOOLS).declarations()), "none"))
    )
    assert reply.tool_calls == ()
    assert "Adelie 152" in reply.text
    bare = asyncio.run(demo_model().generate(ModelRequest("", (Turn("user", QUESTION),))))
    assert bare.tool_calls == ()
    assert "attach a table" in bare.text


def test_the_middle_of_its_work_is_a_fair_answer_too(penguin_desk: ToolHarness) -> None:
    turns = ask(penguin_desk, QUESTION).transcript
    seen = next(place for place, turn in enumerate(turns) if any(call.name == "make_chart" for call in turn.tool_calls))
    reply = asyncio.run(demo_model().generate(ModelRequest("", tuple(turns[:seen]), (), "none")))
    assert "Adelie 152" in reply.text
    assert "No report was written." in reply.text


def test_a_tool_that_fails_is_told_and_the_rest_is_done(penguin_desk: ToolHarness) -> None:
    @tool(idempotent=True)
    def make_chart(kind: str, sql: str, title: str, name: str, x: str, y: str = "", series: str = "") -> str:
        """Draws nothing."""
        raise ToolError("the pencil broke")

    tools = [make_chart if each.name == "make_chart" else each for each in TOOLS]
    result = penguin_desk.run_loop(demo_model(), tools, QUESTION)
    assert result.status == "completed"
    assert "Failed: the pencil broke" in result.text
    assert "Adelie 152" in result.text
    assert "the pencil broke" in penguin_desk.read("report.md")
    assert "<svg" not in penguin_desk.read("report.html")


def test_a_report_that_cannot_be_written_is_tried_once(penguin_desk: ToolHarness) -> None:
    @tool(idempotent=True)
    def write_report(title: str, markdown: str) -> str:
        """Writes nothing."""
        raise ToolError("the ink is dry")

    result = penguin_desk.run_loop(demo_model(), [*TOOLS[:-1], write_report], QUESTION)
    assert [call.name for step in result.steps for call in step.calls].count("write_report") == 1
    assert "Failed: the ink is dry" in result.text
    assert "No report was written." in result.text


def test_long_column_names_do_not_mix_up_the_charts(desk: ToolHarness) -> None:
    long = "how satisfied are you with the service that you got from us in the branch "
    lines = [f"{'ab'[i % 2]},{'cd'[i // 2 % 2]},{i}" for i in range(40)]
    desk.attach("survey.csv", "\n".join(["branch,region,total", *lines]).replace("total", f"{long}total"))
    result = ask(desk, f"What is the mean {long}total by branch? How does {long}total differ by region?")
    assert "Failed" not in result.text
    assert desk.read("report.html").count("<svg") == 2


@pytest.mark.parametrize(
    ("question", "chart", "says"),
    [
        (
            "What is the distribution of flipper length?",
            "distribution-of-flipper-length-mm.svg",
            f"the median is {median(FLIPPERS):g}, the mean {fmean(FLIPPERS):.2f}",
        ),
        ("Histogram of body mass please", "distribution-of-body-mass-g.svg", "runs from 2700 to 6300 (n = 342)"),
        (
            "Is bill length related to the depth, by species?",
            "bill-depth-mm-against-bill-length-mm.svg",
            "-0.235 (n = 342)",
        ),
        ("How did average body mass change over the years?", "mean-body-mass-g-by-year.svg", "4124.54 in 2007"),
        ("median flipper lengths per island", "median-flipper-length-mm-by-island.svg", "Biscoe 214 (n = 167)"),
        ("What is the heaviest boddy mass by species", "highest-body-mass-g-by-species.svg", "Gentoo 6300"),
        ("Count the sexes", "number-of-penguins-by-sex.svg", "(missing) 11 (3.2%)"),
        ("How many penguins by year and island?", "number-of-penguins-by-year-and-island.svg", "2007 Biscoe 44"),
        ("Tell me about it", "mean-bill-length-mm-by-species.svg", "Adelie 152"),
        ("", "number-of-penguins-by-species.svg", "Adelie 152"),
    ],
)
def test_a_simple_question_gets_its_chart_and_its_numbers(
    penguin_desk: ToolHarness, question: str, chart: str, says: str
) -> None:
    result = ask(penguin_desk, question or "Attached files:\n- penguins.csv (text/csv, 15,241 bytes)")
    assert result.status == "completed"
    assert chart in produced(penguin_desk)
    assert says in result.text
    assert "Failed" not in result.text


def test_its_correlations_are_those_of_the_statistics_module(penguin_desk: ToolHarness) -> None:
    result = ask(penguin_desk, "correlation of bill length and bill depth by species")
    rows = [row for row in penguins() if row["species"] == "Gentoo" and row["bill_length_mm"] != "NA"]
    pairs = [[float(row[column]) for row in rows] for column in ("bill_length_mm", "bill_depth_mm")]
    assert f"Gentoo {correlation(*pairs):.3f} (n = {len(rows)})" in result.text


def test_dates_become_months_and_the_table_that_the_question_names_is_used(penguin_desk: ToolHarness) -> None:
    days = [f"{1 + i % 28:02}.{1 + i // 28:02}.2024;{'AB'[i % 2]};{i},5" for i in range(336)]
    penguin_desk.attach("sales 2024.csv", "\n".join(["date;product;revenue", *days]))
    result = ask(penguin_desk, "How did total revenue develop over time? And what is the mean revenue by product?")
    assert "total-revenue-by-month.svg" in produced(penguin_desk)
    assert f"{sum(i + 0.5 for i in range(28)):g} in 2024-01" in result.text
    assert "mean-revenue-by-product.svg" in produced(penguin_desk)
    assert "not used: penguins.csv (344 rows)" in penguin_desk.read("report.md")


def test_markup_in_a_question_or_in_a_cell_is_text(desk: ToolHarness) -> None:
    desk.attach("t.csv", "kind,n\n![x](evil.svg),1\n<b>|*a*,2\n![x](evil.svg),3\n")
    result = ask(desk, "How many of each kind? ![y](other.svg) <script>")
    assert result.status == "completed"
    assert "The report is report.html" in result.text
    html = desk.read("report.html")
    assert html.count("![x](evil.svg)") >= 2
    assert "<script>" not in html


def test_columns_with_awkward_names_are_no_trouble(desk: ToolHarness) -> None:
    rows = [{"Group By": "ab"[i % 2], "total (€)": i, "2024": i % 5} for i in range(20)]
    desk.attach("odd names.json", json.dumps(rows))
    result = ask(desk, "What is the mean total by group by?")
    assert "Failed" not in result.text
    assert "a 9 (n = 10)" in result.text


def test_progress_is_told_sparingly(penguin_desk: ToolHarness) -> None:
    told = ask(penguin_desk, QUESTION).progress
    assert told == ("Looking at the files.", "Querying penguins.", "Drawing the charts.", "Writing the report.")


def test_a_pause_slows_every_reply_down() -> None:
    start = time.monotonic()
    asyncio.run(demo_model(pause=0.2).generate(ModelRequest("", (Turn("user", "hi"),))))
    assert time.monotonic() - start >= 0.2


def test_calls_with_arguments_that_another_model_garbled_do_no_harm(penguin_desk: ToolHarness) -> None:
    """A task may have begun with another model."""
    garbled = Turn("assistant", "", (ToolCall("x", "run_sql", "{broken"),))
    answer = Turn("tool", '{"error": "not JSON", "error_type": "invalid_json"}', tool_call_id="x", tool_name="run_sql")
    result = ask(penguin_desk, QUESTION, garbled, answer)
    assert result.status == "completed"
    assert "Adelie 152" in result.text


def test_the_instructions_speak_of_tools_that_exist() -> None:
    text = (AGENT / "instructions.md").read_text(encoding="utf-8")
    spoken = set(re.findall(r"`([a-z]+_[a-z]+)`", text)) - {"save_as"}
    assert {"list_files", "preview_table", "run_sql", "write_report", "ask_user"} <= spoken
    assert spoken <= {*(each.name for each in TOOLS), *LIFECYCLE_TOOLS.names}
