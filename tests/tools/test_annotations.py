"""Hints that are written as text until somebody asks, as `from __future__ import annotations` makes all of them."""

from __future__ import annotations

import datetime
import enum
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agentfn import Context, File, InputFile, tool
from agentfn.tools.tool_arguments import ToolCallError

Json = dict[str, Any]


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


class Range(TypedDict, total=False):
    low: int
    high: int


@dataclass
class Point:
    x: int = 0


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(9, description="Left.")


class Dog(BaseModel):
    kind: Literal["dog"]


@tool
def take(
    context: Context,
    word: Annotated[str, "A word, told in a bare text."],
    page: Annotated[InputFile, "A page."],
    both: Annotated[int, "From the hint."] = 1,
    field: Annotated[int, Field(ge=0, description="From the field.")] = 2,
    size: Size = Size.SMALL,
    range: Range = {},  # noqa: A002, B006
    pet: Union[Cat, Dog, None] = None,  # noqa: UP007
    maybe: Optional[list[list[Point]]] = None,  # noqa: UP045
    at: datetime.datetime | None = None,
    mode: Literal["fast"] = "fast",
) -> str:
    """Takes.

    Args:
        both (int, optional): From the docstring. Defaults to 1.
    """
    return f"{word} {page.name} {size} {range} {pet!r} {maybe} {at} {context.task_id}"


def test_hints_as_text_make_the_same_schema() -> None:
    Draft202012Validator.check_schema(take.schema)
    shape: Json = take.schema["properties"]
    assert take.context_parameter == "context"
    assert take.file_parameters == {"page"}
    assert take.schema["required"] == ["word", "page"]
    assert shape["word"] == {"type": "string", "description": "A word, told in a bare text."}
    assert shape["page"] == {"type": "string", "description": "A page."}
    assert shape["both"]["description"].startswith("From the docstring.")
    assert shape["field"] == {"type": "integer", "minimum": 0, "default": 2, "description": "From the field."}
    assert shape["size"] == {"$ref": "#/$defs/Size", "default": 1}
    assert shape["mode"] == {"const": "fast", "type": "string", "default": "fast"}
    assert shape["maybe"]["anyOf"][0]["items"] == {"type": "array", "items": {"$ref": "#/$defs/Point"}}
    assert [part.get("$ref") for part in shape["pet"]["anyOf"]] == ["#/$defs/Cat", "#/$defs/Dog", None]
    assert shape["at"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert set(take.schema["$defs"]["Range"]["properties"]) == {"low", "high"}
    assert take.schema["$defs"]["Cat"]["properties"]["lives"]["description"] == "Left."


def test_hints_as_text_make_the_same_values(call: Any, workspace: Any) -> None:
    workspace.attach(File("a.txt", b""))
    given = {
        "word": "w",
        "page": "a.txt",
        "size": 2,
        "range": {"low": 1},
        "pet": {"kind": "dog"},
        "maybe": [[{"x": 1}]],
    }
    expected = "w a.txt Size.LARGE {'low': 1} Dog(kind='dog') [[Point(x=1)]] None task"
    assert call(take, json.dumps(given)).text == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 3},
        {"range": {"low": "x"}},
        {"pet": {"kind": "cow"}},
        {"maybe": [{"x": 1}]},
        {"mode": "slow"},
        {"at": 1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_does_not_fit_is_said_with_its_path(call: Any, wrong: Json) -> None:
    mistake = call(take, json.dumps({"word": "w", "page": "a.txt", **wrong}))
    assert isinstance(mistake, ToolCallError)
    assert mistake.path.startswith(f"$.{next(iter(wrong))}")
