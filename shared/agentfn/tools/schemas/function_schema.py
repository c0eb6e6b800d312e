"""The JSON Schema of a function, from its type hints and docstring, and the conversion of arguments to its types."""

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
from agentfn.tools.tool_context import Context


@dataclass(frozen=True)
class FileParameter:
    """Marks a parameter for which the model gives a file's name and the tool receives a local path."""

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "description": "The name of an attached or produced file."}


InputFile = Annotated[Path, FileParameter()]


@dataclass(frozen=True)
class FunctionSignature:
    """The parameters of a function: those that the model gives, which of them are files, and the context's name."""

    description: str
    arguments_model: type[BaseModel]
    file_parameters: frozenset[str]
    context_parameter: str | None

    def json_schema(self) -> dict[str, Any]:
        schema = self.arguments_model.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema

    def convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Converts the arguments to the function's types. Raises pydantic's ValidationError."""
        model = self.arguments_model.model_validate(arguments)
        return {str(field.alias): getattr(model, name) for name, field in type(model).model_fields.items()}


def read_signature(function: Callable[..., Any], name: str) -> FunctionSignature:
    """Raises ConfigurationError if a parameter has no type, or a type without a JSON Schema."""
    hints, doc = read_hints(function, name), _parse_docstring(function)
    described = {param.arg_name: param.description or "" for param in doc.params}
    taken = [parameter for parameter in _parameters(function) if not _is_context(hints.get(parameter.name))]
    fields = {
        f"field_{place}": _build_field(name, parameter, hints.get(parameter.name), described)
        for place, parameter in enumerate(taken)
    }
    files = frozenset(parameter.name for parameter in taken if _takes_file(hints[parameter.name]))
    return FunctionSignature(
        _join_description(doc), _build_model(name, fields), files, find_context_parameter(function, name)
    )


def read_hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"tool {name}: its type hints cannot be read: {error}") from error


def find_context_parameter(function: Callable[..., Any], name: str) -> str | None:
    """The name of the parameter for the Context; None if there is none."""
    hints = read_hints(function, name)
    named = [parameter.name for parameter in _parameters(function) if _is_context(hints.get(parameter.name))]
    if len(named) > 1:
        raise ConfigurationError(f"tool {name}: it has two parameters for the Context, {' and '.join(named)}")
    return named[0] if named else None


def read_description(function: Callable[..., Any]) -> str:
    return _join_description(_parse_docstring(function))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _parse_docstring(function: Callable[..., Any]) -> docstring_parser.Docstring:
    return docstring_parser.parse(inspect.getdoc(function) or "")


def _build_field(
    name: str, parameter: inspect.Parameter, hint: Any, described: dict[str, str]
) -> tuple[Any, FieldInfo]:
    """A pydantic field. The parameter's name is its alias, so that it cannot clash with a name of pydantic's."""
    if hint is None:
        raise ConfigurationError(f"tool {name}: parameter {parameter.name!r} needs a type")
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigurationError(f"tool {name}: parameter {parameter.name!r} cannot be filled by name")
    default: Any = ... if parameter.default is parameter.empty else parameter.default
    text = described.get(parameter.name) or _annotation_text(hint)
    described_as: Any = {"description": text} if text else {}  # else the type hint's own description stays
    return hint, Field(default, alias=parameter.name, **described_as)


def _annotation_text(hint: Any) -> str:
    """The description in Annotated[str, "description"]."""
    notes = hint.__metadata__ if typing.get_origin(hint) is Annotated else ()
    return next((note for note in notes if isinstance(note, str)), "")


def _build_model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model(
            name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields
        )
        model.model_json_schema()
    except (PydanticUserError, TypeError, NameError) as error:
        raise ConfigurationError(f"tool {name}: its signature has no JSON Schema: {error}") from error
    return model


def _join_description(doc: docstring_parser.Docstring) -> str:
    return "\n\n".join(part for part in (doc.short_description, doc.long_description) if part)


def _is_context(hint: Any) -> bool:
    return hint is Context or Context in typing.get_args(hint)


def _takes_file(hint: Any, inside: frozenset[Any] = frozenset()) -> bool:
    if isinstance(hint, typing.TypeAliasType):  # an alias may be recursive
        return hint not in inside and _takes_file(hint.__value__, inside | {hint})
    return isinstance(hint, FileParameter) or any(_takes_file(part, inside) for part in typing.get_args(hint))
