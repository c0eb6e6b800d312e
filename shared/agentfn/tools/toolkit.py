"""A toolkit: tools that belong together, with instructions for the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentfn.telemetry import logger
from agentfn.tools.tool import Function, Tool
from agentfn.tools.tool_output import to_summary_line


@dataclass(frozen=True)
class Toolkit:
    """`instructions` are added to the system prompt. `summarise(name, text)` returns one line for the caller about a
    tool's result; it is called on the event loop, so it must be fast.
    """

    tools: Sequence[Tool | Function]
    instructions: str = ""
    summarise: Callable[[str, str], str] | None = None

    def summary(self, name: str, text: str) -> str:
        """The summary of a result. Empty if there is none, and if `summarise` fails: the call itself has succeeded."""
        if self.summarise is None:
            return ""
        try:
            return to_summary_line(self.summarise(name, text) or "")
        except Exception:  # noqa: BLE001 - the agent's own function, about a call that succeeded
            logger.exception("a toolkit's summarise function failed", tool=name)
            return ""
