"""The model-and-tools loop: a transcript in, events out. It knows no AWS and no A2A."""

from agentfn.loop.events import (
    Event,
    Final,
    ModelTurn,
    Notice,
    Progress,
    StepStarted,
    ToolCalled,
    ToolsFinished,
)
from agentfn.loop.loop import Loop, LoopLimits
from agentfn.loop.result import Result, Status

__all__ = [
    "Event",
    "Final",
    "Loop",
    "LoopLimits",
    "ModelTurn",
    "Notice",
    "Progress",
    "Result",
    "Status",
    "StepStarted",
    "ToolCalled",
    "ToolsFinished",
]
