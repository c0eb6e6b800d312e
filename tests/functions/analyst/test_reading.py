"""Files as people send them become tables, and what is no table is refused in words that help."""

import csv
import io
import json
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from analyst.formats import grid, table_reader, workbook
from analyst.formats.cells import MISSING
from analyst.formats.grid import NotATableError
from analyst.formats.table_reader import read_tables
from analyst.table import Table
from functions.analyst.tool_harness import AGENT


class Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tables(self, content: bytes | str, name: str = "t.csv") -> tuple[Table, ...]:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_tables(path)

    def __call__(self, content: bytes | str, name: str = "t.csv") -> Table:
        (table,) = self.tables(content, name)
        return table

    def refusal(self, content: bytes | str, name: str = "t.csv") -> str:
        with pytest.raises(NotATableError) as refused:
            self.tables(content, name)
        return str(refused.value)

    def column(self, *cells: str) -> tuple[str, list[object], tuple[str, ...]]:
        """Type, values and notes of a column with these cells."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows([["value", "other"], *([cell, "x"] for cell in cells)])
        table = self(text.getvalue())
        return table.columns[0].type, list(table.columns[0].values), table.notes


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def cells(table: Table) -> list[tuple[object, ...]]:
    return list(table.rows())


def types(table: Table) -> list[str]:
    return [column.type for column in table.columns]


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def test_the_sample_data_keep_their_missing_values() -> None:
    (table,) = read_tables(AGENT / "data" / "penguins.csv")
    assert (table.name, table.height, table.notes) == ("penguins", 344, ())
    assert types(table) == ["text", "text", "real", "real", "integer", "integer", "text", "integer"]
    with (AGENT / "data" / "penguins.csv").open(newline="") as file:
        spelled = [list(row.values()) for row in csv.DictReader(file)]
    for column, raw in zip(table.columns, zip(*spelled, strict=True), strict=True):
        assert [value is None for value in column.values] == [cell == "NA" for cell in raw]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "name;city\nMüller;Köln\n"),
        ("utf-16", "name;city\nMüller;Köln\n"),
        ("utf-16-le", "name;city\nMüller;Köln\n"),
        ("utf-16-be", "name;city\nMüller;Köln\n"),
        ("latin-1", "name;city\nMüller;Köln\nGarçon;Besançon\n"),
        ("cp1252", "name;price\nMüller;5 €\n„Quote“;7 €\n"),
        ("cp1250", "imię;miasto\nŁukasz;Kraków\nŻaneta;Łódź\nStanisław;Gdańsk\nPaweł;Częstochowa\n"),
        ("cp1251", "имя;город\nИван;Москва\nМария;Казань\nПётр;Новосибирск\n"),  # noqa: RUF001
        ("shift_jis", "名前;都市\n田中;東京\n鈴木;大阪\n佐藤;名古屋\n"),
    ],
)
def test_a_file_in_an_odd_encoding_keeps_its_letters(read: Reader, encoding: str, text: str) -> None:
    table = read(text.encode(encoding))
    header, *rows = [tuple(line.split(";")) for line in text.splitlines()]
    assert (tuple(names(table)), cells(table)) == (header, rows)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(read: Reader, separator: str) -> None:
    rows = [["name", "said", "n"], ["Ann", f"yes{separator} but, well", "1"], ["Bob", 'so "what"', "2"]]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    assert cells(read(text.getvalue())) == [("Ann", rows[1][1], 1), ("Bob", rows[2][1], 2)]


def test_excels_own_hint_of_the_separator_is_followed(read: Reader) -> None:
    assert cells(read("sep=;\na;b\n1;2,5\n")) == [(1, 2.5)]


def test_a_semicolon_file_with_decimal_commas_is_not_cut_at_the_commas(read: Reader) -> None:
    table = read("name;price;date\nA;1.234,50;31.12.2024\nB;3,14;01.02.2025\n")
    assert cells(table) == [("A", 1234.5, "2024-12-31"), ("B", 3.14, "2025-02-01")]


@pytest.mark.parametrize(
    ("spelled", "kind", "values"),
    [
        (["1", "-2", "+3"], "integer", [1, -2, 3]),
        (["1.5", "2", "1e3", ".5"], "real", [1.5, 2.0, 1000.0, 0.5]),
        (["1,234,567", "2,345"], "integer", [1234567, 2345]),
        (["1,234.50", "2,345"], "real", [1234.5, 2345.0]),
        (["1,234", "12.5"], "real", [1234.0, 12.5]),
        (["1,5", "2,25"], "real", [1.5, 2.25]),
        (["1 234", "12 345 678"], "integer", [1234, 12345678]),
        (["1'234.5", "2"], "real", [1234.5, 2.0]),
        (["true", "FALSE"], "boolean", [True, False]),
        (["2024-01-31", "2024-02-01T10:30"], "date", ["2024-01-31", "2024-02-01 10:30:00"]),
        (["2024/1/31", "2023/12/01"], "date", ["2024-01-31", "2023-12-01"]),
        (["31/12/2024", "01/02/2024"], "date", ["2024-12-31", "2024-02-01"]),
        (["12/31/2024", "01/02/2024 9:05"], "date", ["2024-12-31", "2024-01-02 09:05:00"]),
        (["1", "-", "3"], "integer", [1, None, 3]),
        (["NA", "NaN", "null", "", "7"], "integer", [None, None, None, None, 7]),
        (["yes", "no"], "text", ["yes", "no"]),
        (["-", "x"], "text", ["-", "x"]),
        (["1", "two"], "text", ["1", "two"]),
        (["1e999", "1"], "text", ["1e999", "1"]),
        (["31/31/2024", "12/12/2024"], "text", ["31/31/2024", "12/12/2024"]),
        (["2024-02-30", "2024-01-01"], "text", ["2024-02-30", "2024-01-01"]),
    ],
)
def test_a_column_gets_the_type_that_all_its_cells_have(
    read: Reader, spelled: list[str], kind: str, values: list[object]
) -> None:
    assert read.column(*spelled)[:2] == (kind, values)


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        (["1,234", "5,678"], "decimal comma or a thousands comma"),
        (["01/02/2024", "03/04/2024"], "which number is the month"),
        (["01234", "99999"], "leading zeros"),
        (["12345678901234567890", "1"], "longer than SQL's whole numbers"),
    ],
)
def test_a_column_with_two_readings_stays_text_and_says_so(read: Reader, spelled: list[str], reason: str) -> None:
    kind, values, notes = read.column(*spelled)
    assert (kind, values) == ("text", spelled)
    assert reason in " ".join(notes)


def test_column_names_become_names_that_sql_takes_and_the_change_is_told(read: Reader) -> None:
    table = read("id,id,,select,Body Mass (g),2020,größe\n1,2,3,4,5,6,7\n8,9,10,11,12,13,14\n")
    assert names(table) == ["id", "id_2", "column_3", "select_", "Body_Mass_g", "n2020", "größe"]
    assert '"Body Mass (g)" is Body_Mass_g' in table.notes[0]


def test_ragged_rows_are_made_even_and_surplus_cells_are_told(read: Reader) -> None:
    table = read("a,b,c\n1,2,3\n4,5\n6,7,8,9\n\n10,11,12\n,,\n")
    assert cells(table) == [(1, 2, 3), (4, 5, None), (6, 7, 8), (10, 11, 12)]
    assert "1 row(s) have more cells than the header" in table.notes[0]


def test_a_separator_at_the_end_of_each_line_makes_no_column(read: Reader) -> None:
    assert names(read("a,b,\n1,2,\n3,4,\n")) == ["a", "b"]


def test_titles_above_the_header_are_left_out_and_told(read: Reader) -> None:
    table = read("Sales report\n\nas of today\nname,n\na,1\nb,2\n")
    assert (names(table), table.notes) == (["name", "n"], ("2 line(s) above the header left out",))


def test_a_table_without_header_gets_numbered_columns(read: Reader) -> None:
    table = read("1,2.5,2024-01-01\n3,4.5,2024-01-02\n")
    assert (names(table), table.height) == (["column_1", "column_2", "column_3"], 2)


def test_a_column_of_short_lines_is_a_table(read: Reader) -> None:
    assert cells(read("name\nAnn\nBob\n")) == [("Ann",), ("Bob",)]


def test_an_unclosed_quote_is_told(read: Reader) -> None:
    assert "never closed" in read('a,b\n"1,2\n3,4\n').notes[0]


def test_old_line_ends_and_line_breaks_in_quotes_are_kept_apart(read: Reader) -> None:
    assert cells(read('a,b\r1,"x\ny"\r2,z\r')) == [(1, "x\ny"), (2, "z")]


def test_json_lines_and_json_arrays_become_tables(read: Reader) -> None:
    records = [{"a": 1, "b": "x"}, {"a": 2.5, "c": {"deep": [1]}}, {"b": None, "a": float("nan")}]
    expected = [(1, "x", None), (2.5, None, '{"deep": [1]}'), (None, None, None)]
    lines = read("\n".join(map(json.dumps, records)), "t.jsonl")
    assert cells(lines) == expected
    assert cells(read(json.dumps(records), "t.json")) == expected
    assert cells(read(json.dumps({"page": 1, "items": records}), "t.json")) == expected
    assert types(lines) == ["real", "text", "text"]
    assert "JSON text" in lines.notes[0]


def test_json_types_are_kept_and_half_a_surrogate_does_no_harm(read: Reader) -> None:
    table = read(
        '[{"ok": true, "n": 12345678901234567890, "s": "\\ud800x"}, {"ok": false, "n": 1, "s": "y"}]', "t.json"
    )
    assert types(table) == ["boolean", "text", "text"]
    assert table.columns[2].values == ("?x", "y")


def test_a_workbook_gives_one_table_per_sheet(read: Reader) -> None:
    book = Workbook()
    sales, empty, costs = book.active, book.create_sheet("empty"), book.create_sheet("Costs 2024")
    assert sales is not None
    sales.title = "sales"
    for row in (
        ["day", "n", "ok", "when"],
        [datetime.fromisoformat("2024-01-31"), 5, True, datetime.fromisoformat("2024-01-31T09:05")],
        [None, 2.5, False],
    ):
        sales.append(row)
    costs["B2"], costs["C2"], costs["B3"], costs["C3"] = "name", "cost", "rent", "#N/A"
    assert empty.max_row == 1
    stream = io.BytesIO()
    book.save(stream)
    tables = read.tables(stream.getvalue(), "Year end.xlsx")
    assert [table.name for table in tables] == ["Year_end_sales", "Year_end_Costs_2024"]
    assert cells(tables[0]) == [("2024-01-31", 5, True, "2024-01-31 09:05:00"), (None, 2.5, False, None)]
    assert types(tables[0]) == ["date", "real", "boolean", "date"]
    assert cells(tables[1]) == [("rent", None)]


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("empty.csv", b"  \n", "it is empty"),
        ("photo.png", b"\x89PNG\r\n\x1a\n", "it is a picture"),
        ("scan.csv", b"%PDF-1.7 ...", "it is a PDF document"),
        ("noise.csv", bytes(range(256)) * 4, "it is not text"),
        ("page.csv", "<!DOCTYPE html><p>1,2", "it is a web page or XML"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "locked with a password"),
        ("data.parquet", b"PAR1....", "it is a Parquet file"),
        ("data.csv.gz", b"\x1f\x8b\x08", "it is compressed"),
        ("broken.xlsx", b"PK\x03\x04broken", "the workbook is damaged"),
        (
            "letter.txt",
            "Dear Sir, I write to you since\nthe thing broke, again, and again.\nPlease, help me, thanks.\n",
            "prose",
        ),
        (
            "essay.csv",
            "It was, as they say, the best of times and the worst of times for all of us, I think\nyes, no\n",
            "prose",
        ),
        ("list.json", "[1, 2]", "not every item is an object"),
        ("cut.jsonl", '{"a": 1}\n{"a": ', "line 2 is not JSON"),
        ("none.json", "[]", "it holds no rows"),
        ("deep.json", "[" * 100_000, "line 1 is not JSON"),
        ("cell.csv", "a,b\n1," + "x" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_what_is_no_table_is_refused_by_name_with_cause_and_remedy(
    read: Reader, name: str, content: bytes | str, cause: str
) -> None:
    refusal = read.refusal(content, name)
    assert refusal.startswith(f"{name} cannot be read as a table: ")
    assert cause in refusal
    assert refusal.endswith((".", "?"))


def test_hidden_sheets_are_left_out_and_times_are_values(read: Reader) -> None:
    book = Workbook()
    sheet, hidden = book.active, book.create_sheet("hidden")
    assert sheet is not None
    sheet.append(["start", "lasted", "x"])
    sheet.append([time(9, 30), timedelta(minutes=2), 1])
    sheet.append([time(10, 0), timedelta(hours=1), "#DIV/0!"])
    hidden.append(["secret", "x"])
    hidden.sheet_state = "hidden"
    stream = io.BytesIO()
    book.save(stream)
    assert cells(read(stream.getvalue(), "a.xlsx")) == [("09:30:00", 120.0, 1), ("10:00:00", 3600.0, None)]


def test_a_workbook_that_would_unpack_to_too_much_is_refused(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    Workbook().save(stream)
    monkeypatch.setattr(workbook, "MAX_UNPACKED_BYTES", 100)
    assert "unpacks to" in read.refusal(stream.getvalue(), "a.xlsx")


def test_an_archive_or_a_workbook_without_rows_is_refused(read: Reader) -> None:
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    assert "an archive, not a workbook" in read.refusal(stream.getvalue(), "a.zip")
    stream = io.BytesIO()
    Workbook().save(stream)
    assert "no sheet in it holds rows" in read.refusal(stream.getvalue(), "a.xlsx")


def test_tables_beyond_the_limits_are_refused(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "more than 500 columns" in read.refusal(",".join(f"c{i}" for i in range(501)) + "\n")
    monkeypatch.setattr(grid, "MAX_CELLS", 5)
    assert "more than 5 cells" in read.refusal("a,b\n1,2\n3,4\n")
    monkeypatch.setattr(table_reader, "MAX_BYTES", 4)
    assert "larger than" in read.refusal("a,b\n1,2\n")


CELL = st.text(st.characters(exclude_categories=["C"], include_characters="\n"), max_size=20)


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=2, max_size=8))
def test_any_text_comes_back_from_csv_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    """Up to what reading is meant to do: spaces around a cell go, what spells a missing value is missing."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("mark", "a", "b"), *((f"row {i}", *row) for i, row in enumerate(rows))])
    (table,) = read_tables(path)
    for column, written in zip(table.columns[1:], zip(*rows, strict=True), strict=True):
        for value, cell in zip(column.values, written, strict=True):
            assert column.type != "text" or value == (None if cell.strip() in MISSING else cell.strip())
