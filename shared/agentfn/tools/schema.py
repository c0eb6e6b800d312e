"""A function's signature and docstring as a JSON Schema, and back: arguments as Python values."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from agentfn.errors import ConfigurationError
from agentfn.tools.context import Context


@dataclass(frozen=True)
class TakesFile:
    """Marks a parameter that the model fills with a file's name and the tool receives as a local path."""

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "description": "The name of an attached or produced file."}


InputFile = Annotated[Path, TakesFile()]


@dataclass(frozen=True)
class Signature:
    """What a function takes: `arguments` from the model, `files` among them, and the name of its context parameter."""

    description: str
    arguments: type[BaseModel]
    files: frozenset[str]
    context: str | None

    def schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema


def read_signature(function: Callable[..., Any], name: str) -> Signature:
    """Raises ConfigurationError where a parameter has no type, or one that JSON cannot carry."""
    hints = typing.get_type_hints(function, include_extras=True)
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    described = {param.arg_name: param.description or "" for param in doc.params}
    context, files, fields = None, set(), {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is Context:
            context = parameter.name
            continue
        fields[parameter.name] = _field(name, parameter, hint, described)
        if _takes_file(hint):
            files.add(parameter.name)
    return Signature(_description(doc), _model(name, fields), frozenset(files), context)


def _field(name: str, parameter: inspect.Parameter, hint: Any, described: dict[str, str]) -> tuple[Any, FieldInfo]:
    if hint is None:
        raise ConfigurationError(f"tool {name}: parameter {parameter.name!r} needs a type")
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigurationError(f"tool {name}: parameter {parameter.name!r} cannot be filled by name")
    default = ... if parameter.default is parameter.empty else parameter.default
    description = described.get(parameter.name)
    return hint, Field(default, description=description) if description else Field(default)


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model(
            name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields
        )
        model.model_json_schema()
    except (PydanticUserError, TypeError, NameError) as error:
        raise ConfigurationError(f"tool {name}: its signature has no JSON Schema: {error}") from error
    return model


def _description(doc: docstring_parser.Docstring) -> str:
    return "\n\n".join(part for part in (doc.short_description, doc.long_description) if part)


def _takes_file(hint: Any) -> bool:
    inner = [hint, *typing.get_args(hint)]
    return any(isinstance(mark, TakesFile) for part in inner for mark in (part, *typing.get_args(part)))
