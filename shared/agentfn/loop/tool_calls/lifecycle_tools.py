"""The tools that every agent's model has beside the agent's own: how it ends a task, asks, or tells how far it is."""

from collections.abc import Iterable
from dataclasses import dataclass

from agentfn.loop.loop_result import LoopStatus
from agentfn.models import ToolCall
from agentfn.tools import ToolRegistry, tool
from agentfn.tools.tool_arguments import parse_arguments

MAX_ANSWER_CHARS = 200_000  # of an answer
DONE_TEXT = "Done."
ASKED_TEXT = "The user was asked; the answer follows."
REPORTED_TEXT = "The user was told."


@dataclass(frozen=True)
class FinalOutput:
    """The loop is over. `files` names those of the produced files to hand over; empty means all of them."""

    status: LoopStatus
    text: str
    files: tuple[str, ...] = ()
    auth_scheme: str = ""


@dataclass(frozen=True)
class ProgressUpdate:
    """Something to tell the caller; the loop goes on."""

    text: str


@tool(idempotent=True)
def finish(text: str, files: list[str] | None = None) -> FinalOutput:
    """Ends the task with its result. Answering in plain text without any tool call does the same with all files.

    Args:
        text: The answer to the user.
        files: Names of the produced files that belong to the result; all of them when left out.
    """
    return FinalOutput("completed", text, tuple(files or ()))


@tool(idempotent=True)
def ask_user(question: str) -> FinalOutput:
    """Asks the user for something that is missing, and waits for the answer. Ask for everything at once.

    Args:
        question: What is needed and why, for a reader who does not see the tools.
    """
    return FinalOutput("input_required", question)


@tool(idempotent=True)
def reject_task(reason: str) -> FinalOutput:
    """Refuses the task: it is not this agent's, or must not be done.

    Args:
        reason: Why, and who may help instead.
    """
    return FinalOutput("rejected", reason)


@tool(idempotent=True)
def request_auth(scheme: str, message: str) -> FinalOutput:
    """Asks for credentials that the task cannot go on without, and waits.

    Args:
        scheme: The kind of authentication, such as "oauth2" or "api_key".
        message: For what service, and what the user has to do.
    """
    return FinalOutput("auth_required", message, auth_scheme=scheme)


@tool(idempotent=True)
def report_progress(text: str) -> ProgressUpdate:
    """Tells the user in one line how far the work is. The work goes on at once.

    Args:
        text: What was done or what comes next.
    """
    return ProgressUpdate(text)


def lifecycle_result(outcome: FinalOutput | ProgressUpdate) -> str:
    """What the model reads as the result of a lifecycle tool."""
    if isinstance(outcome, ProgressUpdate):
        return REPORTED_TEXT
    return ASKED_TEXT if outcome.status in ("input_required", "auth_required") else DONE_TEXT


def find_final_output(call: ToolCall, result: str) -> FinalOutput | None:
    """The ending that a lifecycle call brought about, told by its result; None where it brought none."""
    tool = LIFECYCLE_TOOLS.get(call.name)
    arguments = (
        parse_arguments(call.arguments, tool, MAX_ANSWER_CHARS) if tool and result in (DONE_TEXT, ASKED_TEXT) else None
    )
    return tool(**arguments) if tool and isinstance(arguments, dict) else None


def finish_text(calls: Iterable[ToolCall]) -> str:
    """The text of a `finish` among the calls: a model that is told to answer without tools may still use that one."""
    for call in calls:
        if call.name == finish.name:
            arguments = parse_arguments(call.arguments, finish, MAX_ANSWER_CHARS)
            return arguments["text"] if isinstance(arguments, dict) else ""
    return ""


LIFECYCLE_TOOLS = ToolRegistry([finish, ask_user, reject_task, request_auth, report_progress])
