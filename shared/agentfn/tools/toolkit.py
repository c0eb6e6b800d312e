"""Tools that belong together, with what the model is told about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentfn.telemetry import logger
from agentfn.tools.tool import Function, Tool
from agentfn.tools.tool_output import to_summary_line


@dataclass(frozen=True)
class Toolkit:
    """`instructions` is a piece of the system prompt. `summarise` makes of a tool's name and the text of its result
    one line for whoever watches; it is called on the event loop, so it must be quick.
    """

    tools: Sequence[Tool | Function]
    instructions: str = ""
    summarise: Callable[[str, str], str] | None = None

    def summary(self, name: str, text: str) -> str:
        """Empty where there is nothing to say, and where `summarise` breaks: no call suffers from that."""
        if self.summarise is None:
            return ""
        try:
            return to_summary_line(self.summarise(name, text) or "")
        except Exception:  # noqa: BLE001 - anyone's function, and the call that it tells of went well
            logger.exception("a summary could not be made", tool=name)
            return ""
