"""The text that a model wrote, as arguments or as the one error it is told."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfn import tool
from agentfn.tools import Tool
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"child": {"$ref": "#/$defs/node"}, "size": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
    "properties": {
        "kind": {"const": "tree"},
        "colour": {"enum": ["red", 7, None]},
        "either": {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "string", "pattern": "^a"}]},
        "any": {
            "anyOf": [{"type": "boolean"}, {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}]
        },
        "tree": {"$ref": "#/$defs/node"},
        "pair": {"type": "object", "dependentRequired": {"a": ["b"]}},
    },
}


@tool(name="grow", description="Grows.", schema=SCHEMA)
def grow(**arguments: Any) -> Any:
    return arguments


@tool
def nothing() -> str:
    """Takes nothing."""
    return ""


@tool
def greet(name: str) -> str:
    """Greets."""
    return name


def read(text: str, made: Tool = grow, limit: int = 1000) -> Any:
    return parse_arguments(text, made, limit)


GOOD = [
    {"kind": "tree"},
    {"colour": None},
    {"either": 5},
    {"either": "abc"},
    {"any": [1]},
    {"tree": {"child": {"child": {"size": 3}}}},
    {"pair": {"a": 1, "b": 2}},
]


@pytest.mark.parametrize("arguments", GOOD)
def test_the_whole_of_draft_2020_12_counts(arguments: Any) -> None:
    assert read(json.dumps(arguments)) == arguments


BAD = [
    ({"kind": "bush"}, "$.kind"),
    ({"colour": "blue"}, "$.colour"),
    ({"either": 4}, "$.either"),
    ({"either": "b"}, "$.either"),
    ({"any": [1, 2]}, "$.any"),
    ({"tree": {"child": {"size": "x"}}}, "$.tree.child.size"),
    ({"tree": {"child": {"seize": 1}}}, "$.tree.child"),
    ({"pair": {"a": 1}}, "$.pair"),
    ({"more": 1}, "$"),
]


@pytest.mark.parametrize(("arguments", "path"), BAD)
def test_an_error_names_the_path_of_the_offending_value(arguments: Any, path: str) -> None:
    mistake = read(json.dumps(arguments))
    assert isinstance(mistake, ToolCallError)
    assert mistake.error_type == "invalid_arguments"
    assert mistake.path.startswith(path)
    told = json.loads(mistake.render())
    assert set(told) == {"error", "error_type", "path"}


@pytest.mark.parametrize("text", ["", " ", "\n\t", "null", "{}", '"{}"', '""', '" "', '"null"', " {} "])
def test_nothing_in_all_its_forms_is_no_arguments(text: str) -> None:
    assert read(text, nothing) == {}
    mistake = read(text, greet)
    assert (mistake.error_type, mistake.path) == ("invalid_arguments", "$")


@pytest.mark.parametrize("text", ["[1]", "7", "true", '"[]"', '"7"', '"\\"{}\\""'])
def test_json_that_is_no_object_is_not_taken_for_one(text: str) -> None:
    assert read(text, nothing).error_type == "not_an_object"


@pytest.mark.parametrize(
    "text", ['{"name": "Ann', "{name: 1}", "{}{}", '{"name": NaN}', '{"n": -Infinity}', "undefined"]
)
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    assert read(text, greet).error_type == "invalid_json"


def test_json_in_a_json_string_is_unwrapped_once() -> None:
    assert read(json.dumps(json.dumps({"name": "Ann"})), greet) == {"name": "Ann"}


def test_arguments_over_the_limit_are_not_even_parsed() -> None:
    assert read("x" * 1001).error_type == "too_long"
    assert "1,001 characters; 1,000 are allowed" in read("x" * 1001).message


def test_an_error_is_short_however_long_the_value_is() -> None:
    text = json.dumps({"kind": "x" * 100_000})
    assert len(read(text, limit=200_000).render()) < 5_000


@pytest.mark.parametrize("depth", [100, 900, 50_000])
def test_deep_nesting_is_an_error_and_no_crash(depth: int) -> None:
    text = '{"tree": ' + '{"child": ' * depth + "{}" + "}" * depth + "}"
    read(text, limit=10**7)
    assert read("[" * depth, limit=10**7).error_type == "invalid_json"


def test_half_a_character_does_not_get_in() -> None:
    assert read('{"name": "a\\ud83d b"}', greet) == {"name": "a? b"}
    assert read('{"name": "\\ud83d\\ude00"}', greet) == {"name": "😀"}
    assert "\ud83d" not in read('{"\\ud83d": 1}', greet).render()


def test_a_huge_number_is_an_error_and_no_crash() -> None:
    assert read('{"tree": {"size": ' + "1" * 5000 + "}}", limit=10_000).error_type == "invalid_json"
    assert read('{"tree": {"size": 12345678901234567890123}}')["tree"]["size"] == 12345678901234567890123


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text()
    | VALUES.map(json.dumps)
    | st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), VALUES).map(json.dumps)
)
@example('{"a": 1, "a": 2}')
@example("\x00")
@example('{"tree": {"child": {"$ref": "#"}}}')
def test_no_text_breaks_it(text: str) -> None:
    for made in (grow, nothing, greet):
        outcome = read(text, made)
        if isinstance(outcome, ToolCallError):
            told = json.loads(outcome.render())
            assert told["error"]
            assert told["error_type"]
        else:
            assert isinstance(outcome, dict)


def test_of_a_key_that_comes_twice_the_last_one_counts() -> None:
    assert read('{"name": "Ann", "name": "Bob"}', greet) == {"name": "Bob"}


def test_half_a_character_does_not_get_in_unescaped_either() -> None:
    assert read('{"name": "a\ud83d"}', greet) == {"name": "a?"}
    assert read(json.dumps(json.dumps({"name": "a\ud83d"})), greet) == {"name": "a?"}


def test_five_megabytes_are_read_where_they_are_allowed() -> None:
    text = json.dumps({"name": "x" * 5_000_000})
    assert len(read(text, greet, 10**7)["name"]) == 5_000_000
    assert read(text, greet, 200_000).error_type == "too_long"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"name":' * 100_000, '"' + "[" * 100_000 + '"'])
def test_a_hundred_thousand_brackets_are_an_error_and_no_crash(text: str) -> None:
    assert read(text, greet, 10**7).error_type == "invalid_json"


@tool(
    description="Steps.",
    schema={
        "type": "object",
        "properties": {"by": {"type": "number", "multipleOf": 0.1}, "any": {"uniqueItems": True}},
    },
)
def step(by: float = 0, any: Any = None) -> Any:  # noqa: A002
    return by


def test_a_number_that_python_cannot_reckon_with_is_an_error_and_no_crash() -> None:
    assert read('{"name": 1e999}', greet).message.endswith("1e999 is too large")
    assert read('{"by": ' + "1" * 400 + "}", step).message == "a number in the arguments is too large"
    assert read('{"by": 1e308}', step, 10**4)


def test_what_is_too_deep_to_be_compared_is_an_error_and_no_crash() -> None:
    deep = "[" * 900 + "]" * 900
    assert read(f'{{"any": [{deep}, {deep}]}}', step, 10**4).error_type in ("invalid_arguments", "invalid_json")
