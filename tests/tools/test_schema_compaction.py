"""The same schema in fewer words."""

import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agentfn import InputFile, tool
from agentfn.tools import ToolRegistry


class Book(BaseModel):
    """A book."""

    title: str = Field(description="What it is called.", examples=["Emma"])
    description: str = ""
    kind: Literal["novel", "atlas"] = "novel"


@tool
def shelve(book: Book, others: list[Book], file: InputFile | None = None, row: Annotated[int, Field(ge=1)] = 3) -> str:
    """Puts books away.

    In the order that they come in.

    Args:
        book: The first one.
        row: Counted from the top.
    """
    return book.title


def test_a_compact_declaration_keeps_the_first_line_and_all_that_validates() -> None:
    function = ToolRegistry([shelve]).declarations(compact=True)[0]["function"]
    assert function == {
        "name": "shelve",
        "description": "Puts books away.",
        "parameters": {
            "$defs": {
                "Book": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string"},
                        "description": {"type": "string"},
                        "kind": {"type": "string", "enum": ["novel", "atlas"]},
                    },
                    "required": ["title"],
                }
            },
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "book": {"$ref": "#/$defs/Book"},
                "others": {"type": "array", "items": {"$ref": "#/$defs/Book"}},
                "file": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "row": {"type": "integer", "minimum": 1},
            },
            "required": ["book", "others"],
        },
    }


def test_the_tool_itself_stays_as_it_is() -> None:
    before = json.dumps(shelve.declaration())
    assert "Counted from the top." in before
    shelve.declaration(compact=True)
    assert json.dumps(shelve.declaration()) == before
    assert ToolRegistry([shelve]).declarations() == (shelve.declaration(),)


WORDY: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": "gone",
    "title": "gone",
    "type": "object",
    "properties": {
        "title": {"const": {"title": "kept", "description": "kept"}, "description": "gone"},
        "description": {"enum": [{"default": 1}, {"examples": 2}], "default": {"gone": 1}},
        "default": {"type": "array", "prefixItems": [{"type": "integer", "title": "gone"}], "items": False},
        "examples": {"if": {"title": "gone", "type": "string"}, "then": {"minLength": 2}, "else": True},
        "$comment": {"not": {"description": "gone", "type": "null"}},
    },
    "$defs": {"title": {"type": "string", "examples": ["gone"]}},
    "patternProperties": {"^title$": {"description": "gone", "$ref": "#/$defs/title"}},
    "dependentRequired": {"title": ["description"]},
    "dependentSchemas": {"default": {"title": "gone", "required": ["examples"]}},
    "allOf": [{"oneOf": [{"title": "gone", "required": ["title"]}, {"anyOf": [{"required": ["default"]}]}]}],
    "additionalProperties": {"title": "gone", "type": "integer"},
    "unevaluatedProperties": False,
    "x-note": {"title": "kept"},
}


@tool(description="Takes.\nAnything.", schema=WORDY)
def take(**arguments: Any) -> str:
    return str(arguments)


def test_only_words_go_and_never_a_property_of_that_name() -> None:
    compact = take.declaration(compact=True)["function"]["parameters"]
    assert "gone" not in json.dumps(compact)
    assert json.dumps(compact).count("kept") == json.dumps(WORDY).count("kept")
    assert list(compact["properties"]) == list(WORDY["properties"])
    assert take.schema is WORDY
    assert "gone" in json.dumps(WORDY)


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": {"title": "kept", "description": "kept"}, "description": {"default": 1}},
        {"title": {"title": "kept"}},
        {"default": [1]},
        {"default": [1], "examples": "ab"},
        {"default": [1, 2], "examples": "ab"},
        {"default": [1], "examples": "a"},
        {"default": [], "examples": 1, "$comment": None},
        {"default": [], "examples": 1, "more": "x"},
        {"default": [], "examples": 1, "more": 1},
    ],
)
def test_a_compact_schema_takes_what_the_whole_one_takes(arguments: Any) -> None:
    compact = take.declaration(compact=True)["function"]["parameters"]
    assert Draft202012Validator(compact).is_valid(arguments) == Draft202012Validator(WORDY).is_valid(arguments)
