"""How a loop calls its model."""

from dataclasses import dataclass, field

from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocolName
from agentfn.models import Sampling
from agentfn.tools import ToolRegistry


@dataclass(frozen=True)
class LoopOptions:
    """`lifecycle_tools` are declared beside the agent's own tools. `force_first_tool` requires a tool call in the first
    step of a new conversation. `compact_schemas` leaves descriptions of parameters out of the declarations. `stream`
    yields the text as TextDelta events while the model writes it.
    """

    sampling: Sampling = field(default_factory=Sampling)
    tool_protocol: ToolProtocolName = "auto"
    lifecycle_tools: ToolRegistry = LIFECYCLE_TOOLS
    force_first_tool: bool = False
    compact_schemas: bool = False
    stream: bool = False
