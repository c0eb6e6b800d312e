"""Tools that come together, with a piece of system prompt and a line about each result."""

from collections.abc import Callable
from typing import Any

import pytest

from agentfn import ConfigurationError, Output, tool
from agentfn.tools import Toolkit, ToolRegistry


@tool
def find(word: str) -> str:
    """Finds."""
    return word


def read(name: str) -> str:
    """Reads."""
    return name


def add(a: int) -> int:
    """Adds."""
    return a


def counted(name: str, text: str) -> str:
    return f"{name}: {len(text)} characters"


PDF = Toolkit([find, read], "  Look before you read.\n", counted)
SUMS = Toolkit([add], "Count twice.")


def test_a_toolkit_stands_beside_tools() -> None:
    def plain() -> str:
        """Does."""
        return ""

    registry = ToolRegistry([plain, PDF, SUMS])
    assert registry.names == ["plain", "find", "read", "add"]
    assert registry.instructions == "Look before you read.\n\nCount twice."
    assert ToolRegistry([plain]).instructions == ""
    assert ToolRegistry([Toolkit([plain])]).instructions == ""


def test_two_tools_of_one_name_are_refused_in_toolkits_too() -> None:
    twice: list[list[Any]] = [[PDF, find], [find, PDF], [PDF, Toolkit([read])]]
    for tools in twice:
        with pytest.raises(ConfigurationError, match="there are two tools of that name"):
            ToolRegistry(tools)


def test_a_result_is_summed_up_by_itself_else_by_its_toolkit_else_not_at_all() -> None:
    registry = ToolRegistry([PDF, SUMS, tool(name="plain")(read)])
    assert registry.summary("find", Output("abc", summary="1 match")) == "1 match"
    assert registry.summary("find", Output("abc")) == "find: 3 characters"
    assert registry.summary("add", Output("abc")) == ""
    assert registry.summary("plain", Output("abc")) == ""
    assert registry.summary("plain", Output("abc", summary=" two\n lines ")) == "two lines"
    assert registry.summary("no such tool", Output("abc")) == ""


def test_an_allow_list_keeps_what_the_toolkits_of_its_tools_say() -> None:
    registry = ToolRegistry([PDF, SUMS])
    one = registry.select(["read"])
    assert (one.names, one.instructions) == (["read"], "Look before you read.")
    assert one.summary("read", Output("abc")) == "read: 3 characters"
    assert registry.select(["add", "find"]).instructions == registry.instructions
    assert registry.select([]).instructions == ""
    assert one.select(["read"]).instructions == one.instructions


class Odd(Exception):
    pass


def strange(name: str, text: str) -> str:
    raise Odd(text)


BROKEN: list[tuple[Callable[[str, str], Any], str]] = [
    (lambda name, text: text.splitlines()[7], "IndexError"),
    (lambda name: "one argument too few", "TypeError"),  # type: ignore[misc, list-item]
    (strange, "Odd"),
]


@pytest.mark.parametrize(("summarise", "error"), BROKEN)
def test_a_summary_that_breaks_is_logged_and_harms_nothing(
    summarise: Any, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = ToolRegistry([Toolkit([find], summarise=summarise)])
    assert registry.summary("find", Output("abc")) == ""
    assert [record.message for record in caplog.records] == ["a toolkit's summarise function failed"]
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[0].__name__ == error  # type: ignore[union-attr]


def test_a_summary_is_one_short_line_whatever_it_is_made_of() -> None:
    made: list[Any] = ["a\nb\u2028c", "x" * 500, None, 7, "half \ud83d"]
    registry = ToolRegistry([Toolkit([find], summarise=lambda name, text: made[int(text)])])
    lines = [registry.summary("find", Output(str(place))) for place in range(len(made))]
    assert lines == ["a b c", "x" * 119 + "…", "", "7", "half ?"]
