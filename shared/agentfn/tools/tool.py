"""Tools: functions that a model may call, and the decorator that makes them."""

import functools
import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from agentfn.errors import ConfigurationError
from agentfn.tools.schemas.function_schema import (
    FunctionSignature,
    find_context_parameter,
    read_description,
    read_signature,
)
from agentfn.tools.schemas.schema_check import check_schema
from agentfn.tools.schemas.schema_compaction import compact_schema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

TOOL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Tool:
    """`schema` is the JSON Schema (draft 2020-12) of the arguments. `file_parameters` are parameters that take files.

    `idempotent` says that a second call does no more than the first: only then is a call with an unknown outcome made
    again. With `requires_approval`, the loop asks the user before each call. `timeout_seconds` limits one call; None
    means the setting's limit. `signature` is None if the schema was passed to `tool`: then the function receives the
    arguments as they are in the JSON.
    """

    name: str
    description: str
    schema: dict[str, Any]
    function: Function
    idempotent: bool = False
    timeout_seconds: float | None = None
    file_parameters: frozenset[str] = frozenset()
    context_parameter: str | None = None
    signature: FunctionSignature | None = None
    requires_approval: bool = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the function directly, for tests and for other functions."""
        return self.function(*arguments, **named)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @functools.cached_property
    def validator(self) -> "Draft202012Validator":
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.schema)

    def declaration(self, compact: bool = False) -> dict[str, Any]:
        """The tool as an OpenAI function declaration.

        A compact one has only the first line of the description, and no descriptions in the schema.
        """
        description = self.description.strip().splitlines()[0] if compact else self.description
        schema = compact_schema(self.schema) if compact else self.schema
        return {"type": "function", "function": {"name": self.name, "description": description, "parameters": schema}}


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    schema: dict[str, Any] | None = None,
    files: Collection[str] = (),
    idempotent: bool = False,
    requires_approval: bool = False,
    timeout_seconds: float | None = None,
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: dict[str, Any] | None = None,
    files: Collection[str] = (),
    idempotent: bool = False,
    requires_approval: bool = False,
    timeout_seconds: float | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Decorator that makes a sync or async function a Tool; with or without parentheses.

    The name, the description and the schema come from the function's name, docstring and type hints unless they are
    passed. A `schema` is used without changes; `files` then names the parameters that take files. See `Tool` for the
    other parameters. Raises ConfigurationError, naming the tool, if the tool is invalid.
    """

    def make(function: Function) -> Tool:
        chosen = name or str(getattr(function, "__name__", ""))
        if not TOOL_NAME.fullmatch(chosen):
            raise ConfigurationError(
                f"tool {chosen!r}: a name must be a letter, followed by at most 63 letters, digits, - or _"
            )
        signature = read_signature(function, chosen) if schema is None else None
        made = Tool(
            name=chosen,
            description=description or read_description(function),
            schema=signature.json_schema() if signature else schema or {},
            function=function,
            idempotent=idempotent,
            requires_approval=requires_approval,
            timeout_seconds=timeout_seconds,
            file_parameters=frozenset(files) or (signature.file_parameters if signature else frozenset()),
            context_parameter=find_context_parameter(function, chosen),
            signature=signature,
        )
        _check(made)
        if signature is None:
            check_schema(made.name, made.schema, function, made.context_parameter)
        return made

    return make(function) if function is not None else make


def _check(made: Tool) -> None:
    if not made.description.strip():
        raise ConfigurationError(f"tool {made.name}: it needs a docstring (or description=) that says what it does")
    if made.schema.get("type") != "object":
        raise ConfigurationError(f"tool {made.name}: its schema must have type object at the top")
    unknown = made.file_parameters - made.schema.get("properties", {}).keys()
    if unknown:
        raise ConfigurationError(f"tool {made.name}: files={sorted(unknown)} are not among its parameters")
    if made.timeout_seconds is not None and made.timeout_seconds <= 0:
        raise ConfigurationError(f"tool {made.name}: timeout_seconds must be positive")
