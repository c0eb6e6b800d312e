"""Test support for agents: a scripted model, Lambda's context and events, and an AWS in memory."""

from agentfn.local.lambda_events import LocalLambdaContext, http_event, queue_event, rest_event, rpc_event
from agentfn.testing.invoke_agent import InvokeResult, invoke
from agentfn.testing.scripted_model import ScriptedModel, ScriptExhausted, calls, pause, stream
from agentfn.testing.stage import RpcError, Stage

__all__ = [
    "InvokeResult",
    "LocalLambdaContext",
    "RpcError",
    "ScriptExhausted",
    "ScriptedModel",
    "Stage",
    "calls",
    "http_event",
    "invoke",
    "pause",
    "queue_event",
    "rest_event",
    "rpc_event",
    "stream",
]
