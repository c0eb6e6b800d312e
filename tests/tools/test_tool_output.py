"""What a tool gives back, as text and files."""

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentfn import File, Output, tool
from agentfn.tools import FileLink
from agentfn.tools.tool_arguments import ToolCallError
from agentfn.tools.tool_output import find_link, to_output


class Model(BaseModel):
    when: datetime.date
    price: decimal.Decimal


@dataclasses.dataclass
class Row:
    name: str
    inner: Model | None = None


class Colour(enum.Enum):
    RED = 1


MODEL = Model(when=datetime.date(2026, 3, 9), price=decimal.Decimal("1.10"))
ID = uuid.UUID(int=7)

TEXTS: list[tuple[Any, Any]] = [
    ({"a": [1, "é"]}, {"a": [1, "é"]}),
    (0, 0),
    (False, False),
    ([], []),
    ((), []),
    ({}, {}),
    (MODEL, {"when": "2026-03-09", "price": "1.10"}),
    ([MODEL], [{"when": "2026-03-09", "price": "1.10"}]),
    (Row("x", MODEL), {"name": "x", "inner": {"when": "2026-03-09", "price": "1.10"}}),
    (decimal.Decimal("0.10"), "0.10"),
    (datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC), "2026-03-09T12:00:00+00:00"),
    ({"at": datetime.time(1, 2)}, {"at": "01:02:00"}),
    ({1}, [1]),
    (frozenset({"x"}), ["x"]),
    ({"id": ID, "colour": Colour.RED}, {"id": str(ID), "colour": 1}),
    ({"path": Path("/x/y")}, {"path": "/x/y"}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    ({1: "x"}, {"1": "x"}),
    (2**70, 2**70),
]


@pytest.mark.parametrize(("value", "shape"), TEXTS)
def test_what_json_can_hold_is_written_as_json(value: Any, shape: Any) -> None:
    output = to_output(value)
    assert json.loads(output.text) == shape
    assert output.files == ()


def test_text_is_as_it_is_and_none_is_empty() -> None:
    assert to_output("héllo {}").render() == "héllo {}"
    assert to_output(None).render() == to_output("").render() == to_output(Output()).render() == ""
    assert to_output("é" * 10).text == "é" * 10


def test_half_characters_are_made_harmless() -> None:
    assert to_output("a\udcffb").text == "a?b"
    assert to_output({"x": "\ud83d"}).text == '{"x": "?"}'


def test_files_come_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    path.write_text("<svg/>")
    assert to_output(path).files == (File("chart.svg", path),)
    assert to_output(b"raw").files == (File("output.bin", b"raw"),)
    assert to_output(File("a.csv", b"1")).files == (File("a.csv", b"1"),)
    mixed = to_output([path, File("b.bin", b"")])
    assert [(file.name, file.size, file.content_type) for file in mixed.files] == [
        ("chart.svg", 6, "image/svg+xml"),
        ("b.bin", 0, "application/octet-stream"),
    ]
    together = to_output(Output("Drawn.", data={"n": 1}, files=[File("x.png", b"1", "image/png")]))
    assert together.render() == 'Drawn.\n{"n": 1}'
    assert [file.name for file in together.files] == ["x.png"]


BROKEN: list[tuple[Any, str]] = [
    (object(), "returned object"),
    ({"x": b"1"}, "returned bytes"),
    ({"x": File("a", b"")}, "returned bytes"),
    (lambda: 1, "returned function"),
    (Exception("x"), "returned Exception"),
    ({(1, 2): 3}, "keys must be"),
    ((n for n in range(3)), "returned generator"),
    (Output(data=object()), "returned object"),
    (Path("/nowhere/at/all.txt"), "all.txt, but there is no such file"),
    (Path("/"), "no such file"),
    (Output("x", files=[File("gone.txt", Path("/nowhere"))]), "gone.txt, but there is no such file"),
]


@pytest.mark.parametrize(("value", "complaint"), BROKEN)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_cannot_be_sent_is_a_mistake_that_the_model_is_told(
    call: Any, value: Any, complaint: str, asynchronous: bool
) -> None:
    @tool
    def give() -> Any:
        """Gives."""
        return value

    @tool
    async def give_later() -> Any:
        """Gives."""
        return value

    outcome = call(give_later if asynchronous else give)
    assert isinstance(outcome, ToolCallError)
    assert outcome.error_type == "tool_failed"
    assert complaint in outcome.message


def test_a_circle_is_a_mistake_too(call: Any) -> None:
    @tool
    def circle() -> Any:
        """Gives itself."""
        ring: list[Any] = []
        ring.append(ring)
        return ring

    @tool
    def deep() -> Any:
        """Gives something deep."""
        value: Any = 1
        for _ in range(100_000):
            value = [value]
        return value

    assert "Circular" in call(circle).message
    assert call(deep).error_type == "tool_failed"


def test_a_file_of_text_is_refused_where_it_is_made() -> None:
    with pytest.raises(TypeError, match="bytes or a Path, not str"):
        File("a.txt", "text")  # type: ignore[arg-type]


URL = "https://files.example.com/reports/Q1%20r%C3%A9sum%C3%A9.pdf?sig=1"


@pytest.mark.parametrize(
    ("shape", "link"),
    [
        ({"download_url": URL}, FileLink("/reports/Q1 résumé.pdf", URL)),
        ({"download_url": URL, "filename": "a.pdf", "name": "b"}, FileLink("a.pdf", URL)),
        (
            {"download_url": URL, "name": "b.pdf", "media_type": "application/pdf"},
            FileLink("b.pdf", URL, "application/pdf"),
        ),
        ({"download_url": URL, "filename": 7, "content_type": 3}, FileLink("/reports/Q1 résumé.pdf", URL)),
        ({"download_url": "http://x.example"}, FileLink("file", "http://x.example")),
    ],
)
def test_json_with_a_download_url_names_a_file(shape: Any, link: FileLink) -> None:
    assert find_link(json.dumps(shape)) == link


@pytest.mark.parametrize(
    "text",
    [
        "",
        "download_url",
        '"download_url"',
        '{"download_url": ',
        '["download_url"]',
        '{"download_url": null}',
        '{"download_url": 7}',
        '{"download_url": ""}',
        '{"download_url": "file:///etc/passwd"}',
        '{"download_url": "javascript:alert(1)"}',
        '{"download_url": "object:other/agent/key"}',
        '{"download_url": "https://"}',
        '{"download_url": "http://["}',
        '{"download_url": "https://x.example/a b"}',
        '{"download_url": "https://x.example/\\r\\nA: b"}',
        '{"inner": {"download_url": "https://x.example"}}',
        f'See {URL} "download_url"',
    ],
)
def test_what_is_no_address_of_the_web_names_none(text: str) -> None:
    assert find_link(text) is None


@given(
    st.text() | st.dictionaries(st.sampled_from(["download_url", "name"]), st.text() | st.integers()).map(json.dumps)
)
def test_no_text_breaks_the_look_for_links(text: str) -> None:
    find_link(text)
    find_link(f'{{"download_url": {json.dumps("https://x.example/" + text)}}}')
    assert to_output(text).text == text


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        ("3 matches", "3 matches"),
        (" two\nlines\u2028and\ta tab ", "two lines and a tab"),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 119 + "…"),
        ("half \ud83d", "half ?"),
        ("", ""),
    ],
)
def test_a_summary_is_one_short_line_that_the_model_does_not_read(call: Any, summary: str, line: str) -> None:
    @tool
    def search() -> Output:
        """Searches."""
        return Output("found", {"n": 3}, summary=summary)

    outcome = call(search)
    assert outcome.summary == line
    assert outcome.render() == 'found\n{"n": 3}'
    assert to_output("no Output").summary == ""
