"""The tools of one agent, by name."""

from collections.abc import Iterable, Iterator
from typing import Any

from agentfn.errors import ConfigurationError
from agentfn.tools.tool import Function, Tool, tool


class Registry:
    """Raises ConfigurationError, naming the tool, for two of one name or a schema that is none."""

    def __init__(self, tools: Iterable[Tool | Function] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools:
            self._add(item if isinstance(item, Tool) else tool(item))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def only(self, names: Iterable[str]) -> "Registry":
        """The tools of an allow-list. Raises ConfigurationError for a name that there is no tool of."""
        wanted = list(names)
        unknown = [name for name in wanted if name not in self._tools]
        if unknown:
            raise ConfigurationError(f"no such tool: {', '.join(unknown)}; there are {', '.join(self.names)}")
        return Registry(self._tools[name] for name in wanted)

    def declarations(self) -> tuple[dict[str, Any], ...]:
        return tuple(tool.declaration() for tool in self)

    def _add(self, item: Tool) -> None:
        if item.name in self._tools:
            raise ConfigurationError(f"tool {item.name}: there are two of that name")
        self._tools[item.name] = item
