"""The tools that every agent's model has beside the agent's own: how it ends a task, asks, or tells how far it is."""

from collections.abc import Iterable
from dataclasses import dataclass

from agentfn.loop.loop_result import Status
from agentfn.models import Call
from agentfn.tools import Registry, tool
from agentfn.tools.tool_arguments import read_arguments

MOST_CHARS = 200_000  # of an answer
DONE = "Done."
ASKED = "The user was asked; the answer follows."
TOLD = "The user was told."


@dataclass(frozen=True)
class Ending:
    """The loop is over. `files` names those of the produced files to hand over; empty means all of them."""

    status: Status
    text: str
    files: tuple[str, ...] = ()
    auth_scheme: str = ""


@dataclass(frozen=True)
class Told:
    """Something to tell the caller; the loop goes on."""

    text: str


@tool(idempotent=True)
def finish(text: str, files: list[str] | None = None) -> Ending:
    """Ends the task with its result. Answering in plain text without any tool call does the same with all files.

    Args:
        text: The answer to the user.
        files: Names of the produced files that belong to the result; all of them when left out.
    """
    return Ending("completed", text, tuple(files or ()))


@tool(idempotent=True)
def ask_user(question: str) -> Ending:
    """Asks the user for something that is missing, and waits for the answer. Ask for everything at once.

    Args:
        question: What is needed and why, for a reader who does not see the tools.
    """
    return Ending("input_required", question)


@tool(idempotent=True)
def reject_task(reason: str) -> Ending:
    """Refuses the task: it is not this agent's, or must not be done.

    Args:
        reason: Why, and who may help instead.
    """
    return Ending("rejected", reason)


@tool(idempotent=True)
def request_auth(scheme: str, message: str) -> Ending:
    """Asks for credentials that the task cannot go on without, and waits.

    Args:
        scheme: The kind of authentication, such as "oauth2" or "api_key".
        message: For what service, and what the user has to do.
    """
    return Ending("auth_required", message, auth_scheme=scheme)


@tool(idempotent=True)
def report_progress(text: str) -> Told:
    """Tells the user in one line how far the work is. The work goes on at once.

    Args:
        text: What was done or what comes next.
    """
    return Told(text)


def result_of(outcome: Ending | Told) -> str:
    """What the model reads as the result of a lifecycle tool."""
    if isinstance(outcome, Told):
        return TOLD
    return ASKED if outcome.status in ("input_required", "auth_required") else DONE


def ending_of(call: Call, result: str) -> Ending | None:
    """The ending that a lifecycle call brought about, told by its result; None where it brought none."""
    tool = LIFECYCLE.get(call.name)
    arguments = read_arguments(call.arguments, tool, MOST_CHARS) if tool and result in (DONE, ASKED) else None
    return tool(**arguments) if tool and isinstance(arguments, dict) else None


def answer_in(calls: Iterable[Call]) -> str:
    """The text of a `finish` among the calls: a model that is told to answer without tools may still use that one."""
    for call in calls:
        if call.name == finish.name:
            arguments = read_arguments(call.arguments, finish, MOST_CHARS)
            return arguments["text"] if isinstance(arguments, dict) else ""
    return ""


LIFECYCLE = Registry([finish, ask_user, reject_task, request_auth, report_progress])
