"""Lifecycle tools, which every agent's model has: end the task, ask the user, report progress."""

from collections.abc import Iterable
from dataclasses import dataclass

from agentfn.loop.loop_result import LoopStatus
from agentfn.models import ToolCall
from agentfn.tools import ToolRegistry, tool
from agentfn.tools.tool_arguments import parse_arguments

MAX_ANSWER_CHARS = 200_000
DONE_TEXT = "Done."
ASKED_TEXT = "The user was asked; the answer follows."
REPORTED_TEXT = "The user was told."


@dataclass(frozen=True)
class FinalOutput:
    """What ends the loop. `files` are names of produced files to return; empty means all of them."""

    tool_name: str
    status: LoopStatus
    text: str
    files: tuple[str, ...] = ()
    auth_scheme: str = ""


@dataclass(frozen=True)
class ProgressUpdate:
    """A progress message for the caller. The loop continues."""

    text: str


@tool(idempotent=True)
def finish(text: str, files: list[str] | None = None) -> FinalOutput:
    """Ends the task with its result. Answering in plain text without any tool call does the same with all files.

    Args:
        text: The answer to the user.
        files: Names of the produced files that belong to the result; all of them when left out.
    """
    return FinalOutput("finish", "completed", text, tuple(files or ()))


@tool(idempotent=True)
def ask_user(question: str) -> FinalOutput:
    """Asks the user for something that is missing, and waits for the answer. Ask for everything at once.

    Args:
        question: What is needed and why, for a reader who does not see the tools.
    """
    return FinalOutput("ask_user", "input_required", question)


@tool(idempotent=True)
def reject_task(reason: str) -> FinalOutput:
    """Refuses the task: it is not this agent's, or must not be done.

    Args:
        reason: Why, and who may help instead.
    """
    return FinalOutput("reject_task", "rejected", reason)


@tool(idempotent=True)
def request_auth(scheme: str, message: str) -> FinalOutput:
    """Asks for credentials that the task cannot go on without, and waits.

    Args:
        scheme: The kind of authentication, such as "oauth2" or "api_key".
        message: For what service, and what the user has to do.
    """
    return FinalOutput("request_auth", "auth_required", message, auth_scheme=scheme)


@tool(idempotent=True)
def report_progress(text: str) -> ProgressUpdate:
    """Tells the user in one line how far the work is. The work goes on at once.

    Args:
        text: What was done or what comes next.
    """
    return ProgressUpdate(text)


def lifecycle_result(outcome: FinalOutput | ProgressUpdate) -> str:
    """The text that the model reads as the result of a lifecycle tool."""
    if isinstance(outcome, ProgressUpdate):
        return REPORTED_TEXT
    return ASKED_TEXT if outcome.status in ("input_required", "auth_required") else DONE_TEXT


def find_final_output(call: ToolCall, result: str) -> FinalOutput | None:
    """The final output of a lifecycle call that was run, judged by its result; None if the call ended nothing."""
    tool = LIFECYCLE_TOOLS.get(call.name)
    if tool is None or result not in (DONE_TEXT, ASKED_TEXT):
        return None
    arguments = parse_arguments(call.arguments, tool, MAX_ANSWER_CHARS)
    return tool(**arguments) if isinstance(arguments, dict) else None


def finish_text(calls: Iterable[ToolCall]) -> str:
    """The text of a `finish` among the calls: a model that must answer without tools may still call it."""
    for call in calls:
        if call.name == finish.name:
            arguments = parse_arguments(call.arguments, finish, MAX_ANSWER_CHARS)
            return arguments["text"] if isinstance(arguments, dict) else ""
    return ""


LIFECYCLE_TOOLS = ToolRegistry([finish, ask_user, reject_task, request_auth, report_progress])
