"""The analyst, whole: the sample data and a question in, a report with the right numbers out."""

import csv
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

from agentfn import ConfigurationError, serve
from agentfn.settings import Settings
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls
from conftest import status_text, task_state

FOLDER = Path(__file__).resolve().parents[2] / "functions" / "analyst"
PENGUINS = (FOLDER / "data" / "penguins.csv").read_bytes()
QUESTION = "How many penguins of each species are there, and how does mean body mass differ by species and sex?"
# As functions/analyst/events/env.json has it for `sam local invoke`.
EVENTS = FOLDER / "events"
ENVIRONMENT: dict[str, str] = json.loads((EVENTS / "env.json").read_text())["Parameters"]


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """functions/analyst/app.py, imported as Lambda imports it."""
    import importlib

    monkeypatch.syspath_prepend(str(FOLDER))
    for name, value in ENVIRONMENT.items():
        if name.startswith("AGENT"):
            monkeypatch.setenv(name, value)
    sys.modules.pop("app", None)
    module = importlib.import_module("app")
    yield module
    module.handler.close()
    sys.modules.pop("app", None)


@pytest.fixture
def stage(app: ModuleType) -> Iterator[Stage]:
    with Stage(app.agent, app.agent.models["demo"]()) as stage:
        yield stage


def download(task: dict[str, Any]) -> dict[str, bytes]:
    """Every artifact, by name, through its link."""
    return {
        artifact["name"]: requests.get(artifact["parts"][0]["url"], timeout=5).content for artifact in task["artifacts"]
    }


def counts_and_means() -> tuple[Counter[str], dict[tuple[str, str], float]]:
    """Counted without any of the project's code."""
    rows = list(csv.DictReader(PENGUINS.decode().splitlines()))
    masses: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row["sex"] not in ("", "NA") and row["body_mass_g"] not in ("", "NA"):
            masses[row["species"], row["sex"]].append(float(row["body_mass_g"]))
    return Counter(row["species"] for row in rows), {key: statistics.mean(values) for key, values in masses.items()}


def numbers(text: str) -> set[str]:
    """All numbers in a text, without thousands separators."""
    return set(re.findall(r"\d+(?:\.\d+)?", text.replace(",", "").replace("\u202f", "").replace("\u00a0", "")))


def test_the_report_has_the_numbers_that_the_data_has(stage: Stage) -> None:
    task = stage.send(QUESTION, files={"penguins.csv": PENGUINS})
    assert task_state(task) == "completed", status_text(task)
    files = download(task)
    report = files["report.md"].decode()
    counts, means = counts_and_means()
    found = numbers(report)
    assert {str(count) for count in counts.values()} <= found
    assert len(means) == 6
    for (species, sex), mean in means.items():
        spellings = {f"{mean:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{mean:.0f}" for digits in range(4)}
        assert spellings & found, f"{species} {sex}: {mean}"


def test_the_artifacts_are_the_report_twice_its_charts_and_its_tables(stage: Stage) -> None:
    task = stage.send(QUESTION, files={"penguins.csv": PENGUINS})
    files = download(task)
    kinds = Counter(Path(name).suffix for name in files)
    assert {"report.md", "report.html"} <= files.keys()
    assert kinds[".svg"] >= 2
    assert kinds[".csv"] >= 2
    html = files["report.html"].decode()
    assert html.count("<svg") >= kinds[".svg"]
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", html), "the page loads nothing from elsewhere"
    assert "<script" not in html
    types = {artifact["name"]: artifact["parts"][0]["mediaType"] for artifact in task["artifacts"]}
    assert (types["report.md"], types["report.html"]) == ("text/markdown", "text/html")


def test_the_demo_model_says_what_it_is_in_the_answer_and_in_the_report(stage: Stage) -> None:
    task = stage.send(QUESTION, files={"penguins.csv": PENGUINS})
    for text in (status_text(task), download(task)["report.md"].decode()):
        assert "not a language model" in text
        assert "AGENT_MODEL" in text


def test_a_question_without_a_file_is_answered_by_a_question(stage: Stage) -> None:
    task = stage.send(QUESTION)
    assert task_state(task) == "input_required"
    assert "attach" in status_text(task).lower()
    done = stage.send("Here it is.", files={"penguins.csv": PENGUINS}, taskId=task["id"])
    assert task_state(done) == "completed"


NO_TABLES = {
    "a picture": ("photo.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20),
    "prose": (
        "letter.csv",
        b"It rained the whole day.\n\nWe stayed in and read. Nobody came by\nand nobody called.\n",
    ),
    "nothing but blanks": ("blank.csv", b" \n \n"),
    "no workbook": ("book.xlsx", b"PK\x03\x04 and then nothing"),
}


@pytest.mark.parametrize(("name", "content"), NO_TABLES.values(), ids=NO_TABLES)
def test_a_file_that_is_no_table_ends_in_readable_words(stage: Stage, name: str, content: bytes) -> None:
    task = stage.send("Summarise this.", files={name: content})
    assert task_state(task) in ("input_required", "failed", "completed")
    assert name in status_text(task)
    assert "Traceback" not in str(task)


ODD = {
    "latin-1 and semicolons": "Stadt;Größe\nKöln;1,5\nMünchen;2,5\n".encode("latin-1"),
    "utf-16 and tabs": "Stadt\tGröße\nKöln\t1.5\nMünchen\t2.5\n".encode("utf-16"),
    "utf-8 with a mark and pipes": "Stadt|Größe\nKöln|1.5\nMünchen|2.5\n".encode("utf-8-sig"),
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_odd_encodings_and_separators_are_read_as_what_they_are(app: ModuleType, content: bytes) -> None:
    model = ScriptedModel(calls("preview_table", file="städte.csv"), "Seen.")
    with Stage(app.agent, model) as stage:
        stage.send("Look.", files={"städte.csv": content})
    seen = model.requests[-1].turns[-1].text
    assert "Köln" in seen
    assert "München" in seen
    assert "2 rows" in seen


BAD_SQL = {
    "a write": "DELETE FROM penguins",
    "a table made": "CREATE TABLE x AS SELECT 1",
    "a file attached": "ATTACH DATABASE '/tmp/x.db' AS x",
    "two statements": "SELECT 1; SELECT 2",
    "a wrong column": "SELECT wingspan FROM penguins",
    "no SQL": "how many penguins?",
}


@pytest.mark.parametrize("sql", BAD_SQL.values(), ids=BAD_SQL)
def test_sql_that_may_not_or_cannot_run_is_a_clear_error_to_the_model(app: ModuleType, sql: str) -> None:
    model = ScriptedModel(calls("run_sql", sql=sql), "Sorry.")
    with Stage(app.agent, model) as stage:
        task = stage.send("Look.", files={"penguins.csv": PENGUINS})
    told = json.loads(model.requests[-1].turns[-1].text)
    assert told["error_type"] == "tool_error"
    assert len(told["error"]) > 10
    assert task_state(task) == "completed"


def test_sql_that_never_ends_is_stopped(app: ModuleType) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    model = ScriptedModel(calls("run_sql", sql=endless), "Sorry.")
    with Stage(app.agent, model) as stage:
        task = stage.send("Look.", files={"penguins.csv": PENGUINS})
    assert "stopped after 10 s" in json.loads(model.requests[-1].turns[-1].text)["error"]
    assert task_state(task) == "completed"


def test_the_events_for_sam_local_invoke_work_as_they_are(app: ModuleType) -> None:
    """The same files that `sam local invoke` takes, in the order a person would play them."""
    events = {path.stem: json.loads(path.read_text()) for path in EVENTS.glob("*.json") if path.stem != "env"}
    assert events.keys() == {"card", "send-blocking", "send-non-blocking", "get", "continuation"}
    with Stage(app.agent, app.agent.models["demo"](), tokens=ENVIRONMENT["AGENTFN_TOKENS"]) as stage:
        context = LocalLambdaContext(60)
        assert json.loads(stage.handler(events["card"], context)["body"])["name"] == "analyst"
        done = json.loads(stage.handler(events["send-blocking"], context)["body"])["result"]["task"]
        assert task_state(done) == "completed"
        sent = json.loads(stage.handler(events["send-non-blocking"], context)["body"])["result"]["task"]
        assert task_state(sent) == "submitted"
        continuation = events["continuation"]["Records"][0]
        assert stage.handler(events["continuation"], context) == {"batchItemFailures": []}
        continuation["body"] = json.dumps({**json.loads(continuation["body"]), "task": sent["id"]})
        assert stage.handler(events["continuation"], context) == {"batchItemFailures": []}
        get = events["get"]
        assert json.loads(stage.handler(get, context)["body"])["error"]["code"] == -32001
        request = json.loads(get["body"])
        get["body"] = json.dumps({**request, "params": {"id": sent["id"]}})
        assert task_state(json.loads(stage.handler(get, context)["body"])["result"]) == "completed"


def test_the_environment_file_has_variables_that_agentfn_knows() -> None:
    ours = {name for name in ENVIRONMENT if name.startswith("AGENT")}
    assert ours <= Settings.variables().keys()


def test_a_deployment_without_a_model_refuses_to_start_and_says_what_to_set(app: ModuleType) -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "AGENT_MODEL"}
    with pytest.raises(ConfigurationError, match="AGENT_MODEL"):
        serve(app.agent, Settings.load(environment))
