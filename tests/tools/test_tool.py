"""What is wrong with a tool is said when it is made, with its name."""

import functools
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agentfn import ConfigurationError, Context, tool
from agentfn.tools import ToolRegistry

if TYPE_CHECKING:
    from collections import OrderedDict as Missing


def untyped(city) -> str:  # type: ignore[no-untyped-def]
    """Does."""
    return str(city)


def silent(city: str) -> str:
    return city


def unknown_type(city: "Missing[str, str]") -> str:
    """Does."""
    return str(city)


def open_socket(line: socket.socket) -> str:
    """Does."""
    return str(line)


def callback(back: Callable[[], str]) -> str:
    """Does."""
    return back()


def many(*cities: str) -> str:
    """Does."""
    return str(cities)


def named(**cities: str) -> str:
    """Does."""
    return str(cities)


def placed(city: str, /) -> str:
    """Does."""
    return city


def twice(one: Context, other: Context) -> str:
    """Does."""
    return ""


BROKEN = [
    (untyped, "parameter 'city' needs a type"),
    (silent, "needs a docstring"),
    (unknown_type, "its type hints cannot be read: name 'Missing'"),
    (open_socket, "its signature has no JSON Schema"),
    (callback, "its signature has no JSON Schema"),
    (many, "parameter 'cities' cannot be filled by name"),
    (named, "parameter 'cities' cannot be filled by name"),
    (placed, "parameter 'city' cannot be filled by name"),
    (twice, "two parameters for the Context, one and other"),
]


@pytest.mark.parametrize(("function", "complaint"), BROKEN, ids=[function.__name__ for function, _ in BROKEN])
def test_a_signature_that_does_not_fit_is_refused(function: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^tool {function.__name__}: .*{complaint}"):
        tool(function)
    with pytest.raises(ConfigurationError, match=f"^tool {function.__name__}: "):
        ToolRegistry([function])


def good(city: str = "") -> str:
    """Does."""
    return city


def object_with(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMAS = [
    ({}, "type object"),
    ({"type": "string"}, "type object"),
    ({"type": ["object", "null"]}, "type object"),
    (object_with(city={"type": "strin"}), "its schema is invalid: .* at"),
    (object_with(city={"type": "string", "pattern": "("}), "its schema is invalid: .* at"),
    ({"type": "object", "required": "city"}, "its schema is invalid"),
    (object_with(city={"$ref": "#/$defs/city"}), "refers to #/\\$defs/city, which is not in it"),
    (object_with(city={"$ref": "https://example.com/s.json"}), "refers to https://example.com/s.json"),
    (object_with(town={"type": "string"}), "do not agree on town"),
]


@pytest.mark.parametrize(("schema", "complaint"), SCHEMAS)
def test_a_raw_schema_that_is_none_or_fits_another_function_is_refused(schema: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^tool good: .*{complaint}"):
        tool(schema=schema)(good)


def test_a_parameter_that_a_raw_schema_never_fills_is_refused() -> None:
    def needy(city: str, country: str) -> str:
        """Does."""
        return city + country

    with pytest.raises(ConfigurationError, match=r"tool needy: .* do not agree on country"):
        tool(schema=object_with(city={"type": "string"}))(needy)


@pytest.mark.parametrize("name", ["1st", "a b", "é", "a.b", "x" * 65, "<lambda>", "a\n", "-a"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a name must be a letter, followed by at most 63"):
        tool(name=name)(good)


def test_what_has_no_name_needs_one() -> None:
    part = functools.partial(good, city="Rome")
    with pytest.raises(ConfigurationError, match="a name must be a letter"):
        tool(part)
    with pytest.raises(ConfigurationError, match="a name must be a letter"):
        tool(lambda: "x")


def test_files_and_seconds_have_to_make_sense() -> None:
    with pytest.raises(ConfigurationError, match=r"^tool good: files=\['town'\]"):
        tool(files=["town"])(good)
    for seconds in (0, -1):
        with pytest.raises(ConfigurationError, match=r"^tool good: timeout_seconds must be positive"):
            tool(timeout_seconds=seconds)(good)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^tool good: there are two tools of that name"):
        ToolRegistry([tool(good), good])


def test_an_allow_list_knows_its_tools_before_the_first_call() -> None:
    registry = ToolRegistry([good, tool(name="other")(good)])
    assert registry.select(["other"]).names == ["other"]
    assert ("good" in registry, "bad" in registry) == (True, False)
    with pytest.raises(ConfigurationError, match="no such tool: bad, worse; there are good, other"):
        registry.select(["bad", "good", "worse"])


def test_a_tool_says_whether_its_calls_need_the_users_yes() -> None:
    assert tool(requires_approval=True)(good).requires_approval
    assert not tool(good).requires_approval
    assert not tool(idempotent=True)(good).requires_approval


@pytest.mark.parametrize("text", [" ", "\n"])
def test_a_blank_description_is_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a docstring"):
        tool(description=text)(good)
