"""The analyst's tools as a model uses them: by name, with arguments, over the files of a task."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentfn import ToolError
from analyst import catalog
from analyst.formats.table_reader import read_tables
from analyst.table import Table
from analyst.tools import TOOLS, list_files, make_chart, preview_table, run_sql, write_report
from functions.analyst.tool_harness import AGENT, ToolHarness

MEANS = "SELECT species, AVG(body_mass_g) AS mean_body_mass_g FROM penguins GROUP BY 1"


def test_all_tools_may_run_again_and_tell_what_they_take() -> None:
    declared = {tool.name: tool for tool in TOOLS}
    assert list(declared) == ["list_files", "preview_table", "run_sql", "make_chart", "write_report"]
    for tool in TOOLS:
        assert tool.idempotent
        properties = tool.schema.get("properties", {})
        assert "context" not in properties
        assert all(parameter.get("description") for parameter in properties.values()), tool.name


def test_files_are_listed_with_type_and_size(penguin_desk: ToolHarness) -> None:
    assert penguin_desk.call(list_files) == "- penguins.csv (text/csv, 15,241 bytes)"


def test_without_files_the_model_is_told_to_ask_for_one(desk: ToolHarness) -> None:
    assert "Ask the user" in desk.call(list_files)
    with pytest.raises(ToolError, match="No file is attached"):
        desk.call(run_sql, sql="SELECT 1")


def test_a_preview_shows_names_types_gaps_ranges_and_rows(penguin_desk: ToolHarness) -> None:
    shown = penguin_desk.call(preview_table, file="penguins.csv", rows=2)
    for line in (
        "Table penguins (from penguins.csv): 344 rows, 8 columns.",
        "| species | text | 0 | 3 | Adelie (152), Gentoo (124), Chinstrap (68) |",
        "| body_mass_g | integer | 2 | 94 | 2700 to 6300 |",
        "| sex | text | 11 | 2 | male (168), female (165) |",
        "First 2 rows:",
    ):
        assert line in shown
    assert shown.endswith("| Adelie | Torgersen | 39.5 | 17.4 | 186 | 3800 | female | 2007 |")


def test_a_preview_of_odd_columns_is_readable(desk: ToolHarness) -> None:
    desk.attach("odd.csv", "gone,code,when,ok\n,a1,2024-01-31,true\n,b2,2024-02-29,false\n")
    shown = desk.call(preview_table, file="odd.csv", rows=0)
    for line in (
        "| gone | text | 2 | 0 | all missing |",
        "| code | text | 0 | 2 | a1 (1), b2 (1) |",
        "| when_ | date | 0 | 2 | 2024-01-31 to 2024-02-29 |",
        "| ok | boolean | 0 | 2 | true (1), false (1) |",
    ):
        assert line in shown
    assert "First" not in shown


def test_a_preview_of_a_very_wide_table_stays_short(desk: ToolHarness) -> None:
    desk.attach(
        "wide.csv", "\n".join([",".join(f"col_{i}" for i in range(300)), *[",".join(["some text"] * 300)] * 30])
    )
    shown = desk.call(preview_table, file="wide.csv", rows=20)
    assert len(shown) < 20_000
    assert "Further columns: col_80, col_81" in shown
    assert "First 20 rows, first 20 columns:" in shown


def test_a_file_that_is_no_table_is_explained(desk: ToolHarness) -> None:
    desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ToolError, match=r"photo\.png cannot be read as a table: it is a picture"):
        desk.call(preview_table, file="photo.png")


def test_a_query_goes_over_all_tables_and_can_be_kept_and_queried_again(penguin_desk: ToolHarness) -> None:
    penguin_desk.attach("islands.json", json.dumps([{"island": "Dream", "area": 1.5}, {"island": "Biscoe", "area": 9}]))
    sql = (
        "SELECT p.species, i.area, COUNT(*) AS n FROM penguins p JOIN islands i USING (island) GROUP BY 1, 2 ORDER BY 1"
    )
    shown = penguin_desk.call(run_sql, sql=sql, save_as="By Area.csv")
    assert shown.startswith("4 rows.\n\n| species | area | n |")
    rows = list(csv.reader(io.StringIO(penguin_desk.read("by-area.csv"))))
    assert rows[1] == ["Adelie", "1.5", "56"]
    assert "| 292 |" in penguin_desk.call(run_sql, sql="SELECT SUM(n) AS n FROM by_area")


def test_files_that_are_no_tables_do_not_stand_in_the_way(penguin_desk: ToolHarness) -> None:
    penguin_desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    penguin_desk.attach("notes.md", "# Notes")
    assert penguin_desk.call(run_sql, sql="SELECT COUNT(*) AS n FROM penguins").startswith("1 row.")
    shown = penguin_desk.call(run_sql, sql="SELECT 1 AS one")
    assert shown.startswith("1 row.")
    assert "Left out: photo.png cannot be read as a table: it is a picture" in shown


def test_where_no_file_is_a_table_the_query_says_why(desk: ToolHarness) -> None:
    desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ToolError, match=r"photo\.png .* is a picture"):
        desk.call(run_sql, sql="SELECT * FROM photo")


def test_two_files_of_one_name_are_two_tables(desk: ToolHarness) -> None:
    desk.attach("sales.csv", "a,b\n1,2\n")
    desk.attach("sales.json", '[{"c": 3}]')
    assert "Table sales_2 (from sales.json)" in desk.call(preview_table, file="sales.json")
    assert "| 1 | 3 |" in desk.call(run_sql, sql="SELECT s.a, t.c FROM sales s, sales_2 t")


def test_a_mistyped_table_gets_the_names_of_all(penguin_desk: ToolHarness) -> None:
    penguin_desk.attach("islands.csv", "island,area\nDream,1\n")
    with pytest.raises(ToolError, match=r"no such table: iland\. Columns of penguins: .* Other tables: islands\."):
        penguin_desk.call(run_sql, sql="SELECT * FROM penguins JOIN iland")


def test_only_the_files_that_a_query_needs_are_read(penguin_desk: ToolHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    penguin_desk.attach("islands.csv", "island,area\nDream,1\n")
    opened: list[Path] = []

    def read(path: Path, name: str) -> tuple[Table, ...]:
        opened.append(path)
        return read_tables(path, name)

    monkeypatch.setattr(catalog, "read_tables", read)
    penguin_desk.call(run_sql, sql="SELECT COUNT(*) FROM penguins")
    assert [path.name for path in opened] == ["penguins.csv"]


def test_an_attached_file_is_never_replaced_by_a_result(penguin_desk: ToolHarness) -> None:
    before = penguin_desk.read("penguins.csv")
    penguin_desk.call(run_sql, sql="SELECT 1 AS one", save_as="penguins")
    assert penguin_desk.read("penguins.csv") == before
    assert penguin_desk.read("penguins-result.csv") == "one\n1\n"


def test_a_name_for_a_file_cannot_be_a_path(penguin_desk: ToolHarness) -> None:
    penguin_desk.call(run_sql, sql="SELECT 1 AS one", save_as="../../etc/passwd")
    penguin_desk.call(run_sql, sql="SELECT 1 AS one", save_as="///")
    assert [file.name for file in penguin_desk.produced] == ["etc-passwd.csv", "result.csv"]


def test_a_chart_becomes_a_file_that_the_report_can_show(penguin_desk: ToolHarness) -> None:
    said = penguin_desk.call(make_chart, kind="bar", sql=MEANS, x="species", y="mean_body_mass_g", title="Mean (g)")
    assert said.startswith("mean-g.svg: bar chart, 3 marks.")
    assert "![Mean (g)](mean-g.svg)" in said
    assert penguin_desk.call(write_report, title="Penguins", markdown="# Penguins\n\n![Mean](mean-g.svg)") == (
        "Written with 1 chart(s)."
    )
    html = penguin_desk.read("report.html")
    assert "<svg" in html
    assert "Made by the agentfn analyst from penguins.csv." in html
    assert penguin_desk.read("report.md").startswith("# Penguins\n\n")


def test_errors_of_a_chart_are_told_to_the_model(penguin_desk: ToolHarness) -> None:
    with pytest.raises(ToolError, match="gives no column mass"):
        penguin_desk.call(make_chart, kind="bar", sql=MEANS, x="species", y="mass", title="t")
    with pytest.raises(ToolError, match="no such column"):
        penguin_desk.call(make_chart, kind="bar", sql="SELECT x FROM penguins", x="x", y="x", title="t")


def test_a_report_with_a_chart_that_was_never_drawn_is_refused(penguin_desk: ToolHarness) -> None:
    with pytest.raises(ToolError, match=r"There is no chart mean\.svg\. There are: none yet\."):
        penguin_desk.call(write_report, title="t", markdown="![x](mean.svg)")


def test_the_user_is_told_when_a_large_file_is_read(desk: ToolHarness) -> None:
    desk.attach("big.csv", "a,b\n" + "1,some text to make it large\n" * 200_000)
    assert desk.call(run_sql, sql="SELECT COUNT(*) AS n FROM big").startswith("1 row.")
    assert desk.progress == ["Reading big.csv"]


def test_the_tools_load_nothing_heavy_before_they_need_it() -> None:
    heavy = {"pygal", "openpyxl", "markdown_it", "charset_normalizer", "litellm"}
    code = f"import sys, analyst.tools, analyst.demo.demo_rules; sys.exit(', '.join({heavy} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=AGENT, capture_output=True, text=True, check=False)
    assert (done.stderr.strip(), done.returncode) == ("", 0)
