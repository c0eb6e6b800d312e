"""The model-and-tools loop: a transcript in, events out. It knows no AWS and no A2A."""

from agentfn.loop.events import (
    Event,
    Final,
    ModelTurn,
    Notice,
    Progress,
    StepStarted,
    TextDelta,
    ToolCalled,
    ToolsFinished,
)
from agentfn.loop.inner import InnerLoops
from agentfn.loop.limits import LoopLimits
from agentfn.loop.loop import Loop
from agentfn.loop.protocol import ProtocolName
from agentfn.loop.result import Result, Status

__all__ = [
    "Event",
    "Final",
    "InnerLoops",
    "Loop",
    "LoopLimits",
    "ModelTurn",
    "Notice",
    "Progress",
    "ProtocolName",
    "Result",
    "Status",
    "StepStarted",
    "TextDelta",
    "ToolCalled",
    "ToolsFinished",
]
