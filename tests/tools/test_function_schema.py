"""A function's signature as the model sees it."""

import dataclasses
import datetime
import enum
import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agentfn import Context, InputFile, tool


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


Json = dict[str, Any]


@tool
def everything(
    text: str,
    count: Annotated[int, Field(ge=1, description="How many.")],
    colour: Colour,
    mode: Literal["fast", "slow"],
    address: Address,
    point: Point,
    when: datetime.date,
    maybe: str | None = None,
    files: list[InputFile] | None = None,
    file: InputFile | None = None,
    number: int = 3,
    pairs: dict[str, list[int]] | None = None,
) -> str:
    """Takes everything.

    And tells more about it
    over two lines.

    Args:
        text: A text,
            over two lines.
        colour: Which colour.
        file: The main file.

    Returns:
        Nothing of interest.
    """
    return text


def properties(made: Any) -> Json:
    found: Json = made.schema["properties"]
    return found


def test_the_schema_says_what_the_hints_and_the_docstring_say() -> None:
    Draft202012Validator.check_schema(everything.schema)
    shape = properties(everything)
    assert everything.description == "Takes everything.\n\nAnd tells more about it\nover two lines."
    assert everything.schema["required"] == ["text", "count", "colour", "mode", "address", "point", "when"]
    assert everything.schema["additionalProperties"] is False
    assert shape["text"] == {"type": "string", "description": "A text,\nover two lines."}
    assert shape["count"] == {"type": "integer", "minimum": 1, "description": "How many."}
    assert shape["mode"] == {"type": "string", "enum": ["fast", "slow"]}
    assert shape["number"] == {"type": "integer", "default": 3}
    assert shape["when"] == {"type": "string", "format": "date"}
    assert shape["maybe"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert shape["colour"]["$ref"] == "#/$defs/Colour"
    assert everything.schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert everything.schema["$defs"]["Address"]["required"] == ["street", "number"]
    assert everything.schema["$defs"]["Point"]["required"] == ["x"]


def test_files_are_names_to_the_model_however_deep_they_are_in_the_hint() -> None:
    assert everything.file_parameters == {"file", "files"}
    options = properties(everything)["files"]["anyOf"]
    assert options[0]["items"]["type"] == "string"
    assert "name of an attached or produced file" in options[0]["items"]["description"]
    assert properties(everything)["file"]["description"] == "The main file."


def test_the_declaration_is_json_and_openais() -> None:
    declaration = everything.declaration()
    assert json.loads(json.dumps(declaration)) == declaration
    assert declaration["type"] == "function"
    assert set(declaration["function"]) == {"name", "description", "parameters"}


def test_the_context_is_not_shown_to_the_model_wherever_it_stands() -> None:
    @tool
    def first(context: Context, city: str) -> str:
        """Does."""
        return city

    @tool
    async def last(city: str, *, where: Context) -> str:
        """Does."""
        return city

    assert (list(properties(first)), list(properties(last))) == (["city"], ["city"])
    assert (first.context_parameter, last.context_parameter) == ("context", "where")


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        """Tells the time."""
        return "noon"

    assert now.schema == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    "style",
    ["Args:\n    city: The city.", ":param city: The city.", "Parameters\n----------\ncity : str\n    The city."],
)
def test_google_sphinx_and_numpy_docstrings_are_read(style: str) -> None:
    def weather(city: str) -> str:
        return city

    weather.__doc__ = f"Tells the weather.\n\n{style}\n"
    made = tool(weather)
    assert made.description == "Tells the weather."
    assert properties(made)["city"]["description"] == "The city."


def test_parameters_may_be_called_like_pydantics_own_things(call: Any) -> None:
    @tool
    def odd(schema: str, copy: bool, json: int, model_config: str, model_fields: int, _private: str, title: str) -> str:
        """Takes odd names."""
        return f"{schema} {copy} {json} {model_config} {model_fields} {_private} {title}"

    given = {
        "schema": "s",
        "copy": True,
        "json": 1,
        "model_config": "m",
        "model_fields": 2,
        "_private": "p",
        "title": "t",
    }
    assert list(properties(odd)) == list(given)
    assert call(odd, json.dumps(given)).text == "s True 1 m 2 p t"


RAW: Json = {
    "type": "object",
    "title": "Kept",
    "$defs": {"city": {"type": "string", "x-note": "kept"}},
    "properties": {"city": {"$ref": "#/$defs/city"}, "unit": {"enum": ["c", "f"]}},
    "oneOf": [{"required": ["city"]}, {"required": ["unit"]}],
    "anyOf": [{"not": {"const": {"city": "Rome", "unit": None}}}, True],
}


def test_a_raw_schema_is_kept_exactly_and_its_arguments_come_as_they_were_sent(call: Any) -> None:
    before = json.dumps(RAW)

    @tool(description="Tells.", schema=RAW)
    def weather(city=None, unit="c"):  # type: ignore[no-untyped-def]
        return f"{city} {unit}"

    assert json.dumps(weather.schema) == before
    assert weather.schema is RAW
    assert json.dumps(weather.declaration()["function"]["parameters"]) == before
    assert call(weather, '{"unit": "f"}').text == "None f"


def test_a_raw_schema_can_be_served_by_a_function_that_takes_anything(call: Any) -> None:
    @tool(name="proxy", description="Hands on.", schema={"type": "object", "properties": {"a-b": {"type": "integer"}}})
    async def hand_on(context: Context, **arguments: Any) -> Json:
        return {**arguments, "key": context.idempotency_key}

    assert json.loads(call(hand_on, '{"a-b": 1, "c": 2}').text) == {"a-b": 1, "c": 2, "key": "task:call_1"}


def test_a_decorated_function_is_still_one() -> None:
    assert everything.function.__name__ == "everything"

    @tool(idempotent=True, timeout_seconds=3, name="other", description="Other.")
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    assert double(4) == double(n=4) == 8
    assert (double.name, double.description, double.idempotent, double.timeout_seconds) == ("other", "Other.", True, 3)
    assert not everything.idempotent
