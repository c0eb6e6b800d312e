"""The choice of the tool protocol for a model."""

from agentfn.loop.tool_protocols.native_tool_calls import NativeToolProtocol
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocol, ToolProtocolName
from agentfn.models import Model, SupportsToolQuery


async def select_protocol(model: Model, name: ToolProtocolName) -> ToolProtocol:
    """The protocol of that name. "auto" is native, or JSON if the model reports that it has no tool calling."""
    if name == "auto":
        name = "json" if isinstance(model, SupportsToolQuery) and not await model.supports_tool_calls() else "native"
    if name == "native":
        return NativeToolProtocol()
    from agentfn.loop.tool_protocols.json_actions import JsonToolProtocol  # few models need it

    return JsonToolProtocol()
