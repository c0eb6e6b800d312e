"""The tools of one agent, by name."""

from collections.abc import Iterable, Iterator
from typing import Any

from agentfn.errors import ConfigurationError
from agentfn.tools.tool import Function, Tool, tool
from agentfn.tools.tool_output import Output, to_summary_line
from agentfn.tools.toolkit import Toolkit


class ToolRegistry:
    """Tools by name. Raises ConfigurationError, naming the tool, for a duplicate name or an invalid tool."""

    def __init__(self, tools: Iterable[Tool | Function | Toolkit] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._toolkits: dict[str, Toolkit] = {}  # by the names of their tools
        for item in tools:
            if isinstance(item, Toolkit):
                self._toolkits |= {self._add(part): item for part in item.tools}
            else:
                self._add(item)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def select(self, names: Iterable[str]) -> "ToolRegistry":
        """A registry with only these tools, and their toolkits. Raises ConfigurationError for an unknown name."""
        wanted = list(names)
        unknown = [name for name in wanted if name not in self._tools]
        if unknown:
            raise ConfigurationError(f"no such tool: {', '.join(unknown)}; there are {', '.join(self.names)}")
        narrowed = ToolRegistry(self._tools[name] for name in wanted)
        narrowed._toolkits = {name: kit for name, kit in self._toolkits.items() if name in narrowed}
        return narrowed

    def with_tool(self, more: Tool) -> "ToolRegistry":
        """A registry with these tools and one more."""
        joined = ToolRegistry([*self, more])
        joined._toolkits = self._toolkits
        return joined

    @property
    def instructions(self) -> str:
        """The instructions of the toolkits, for the system prompt."""
        return "\n\n".join(filter(None, dict.fromkeys(kit.instructions.strip() for kit in self._toolkits.values())))

    def declarations(self, compact: bool = False) -> tuple[dict[str, Any], ...]:
        return tuple(tool.declaration(compact) for tool in self)

    def summary(self, name: str, output: Output) -> str:
        """One line about a result: the summary of the output, else that of the toolkit, else empty."""
        kit = self._toolkits.get(name)
        return to_summary_line(output.summary) or (kit.summary(name, output.render()) if kit else "")

    def _add(self, item: Tool | Function) -> str:
        made = item if isinstance(item, Tool) else tool(item)
        if made.name in self._tools:
            raise ConfigurationError(f"tool {made.name}: there are two tools of that name")
        self._tools[made.name] = made
        return made.name
