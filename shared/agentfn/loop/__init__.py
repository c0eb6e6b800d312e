"""The agent loop: takes a transcript, calls the model and tools, yields events. Independent of AWS and A2A.

Names are imported on first use: a process that only reads tasks does not import the loop.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfn.loop.agent_loop import AgentLoop
    from agentfn.loop.loop_environment import LoopEnvironment
    from agentfn.loop.loop_events import (
        LoopEvent,
        LoopFinished,
        ModelTurn,
        Notice,
        Progress,
        StepStarted,
        TextDelta,
        ToolCallStarted,
        ToolsFinished,
    )
    from agentfn.loop.loop_limits import LoopLimits
    from agentfn.loop.loop_options import LoopOptions
    from agentfn.loop.loop_result import LoopResult, LoopStatus
    from agentfn.loop.nested_loops import NestedLoops
    from agentfn.loop.tool_protocols.tool_protocol import ToolProtocolName

__all__ = [
    "AgentLoop",
    "LoopEnvironment",
    "LoopEvent",
    "LoopFinished",
    "LoopLimits",
    "LoopOptions",
    "LoopResult",
    "LoopStatus",
    "ModelTurn",
    "NestedLoops",
    "Notice",
    "Progress",
    "StepStarted",
    "TextDelta",
    "ToolCallStarted",
    "ToolProtocolName",
    "ToolsFinished",
]

_MODULES = {
    "AgentLoop": "agent_loop",
    "LoopEnvironment": "loop_environment",
    "LoopLimits": "loop_limits",
    "LoopOptions": "loop_options",
    "LoopResult": "loop_result",
    "LoopStatus": "loop_result",
    "NestedLoops": "nested_loops",
    "ToolProtocolName": "tool_protocols.tool_protocol",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'loop_events')}"), name)
