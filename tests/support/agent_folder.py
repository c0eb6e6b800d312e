"""Writes an agent's folder. The first word of a message selects what its model does."""

from pathlib import Path

APP_SOURCE = '''
"""A clerk: the first word of a message says what he does."""

import threading

from agentfn import Agent, Context, File, Output, serve, tool
from agentfn.testing import ScriptedModel
from agentfn.testing.scripted_model import calls
from manners import GREETING

GATE = threading.Event()
MEETING = threading.Barrier(2, timeout=120)


@tool(idempotent=True)
def draw(context: Context, name: str) -> Output:
    """Draws a chart."""
    return Output("drawn", files=[File(name, b"<svg/>", "image/svg+xml"), File("notes.txt", b"one line", "text/plain")])


@tool(idempotent=True)
def wait(context: Context) -> str:
    """Waits at the gate."""
    context.progress("at the gate")
    GATE.wait(120)
    return "open"


@tool(idempotent=True)
def meet() -> str:
    """Waits for the other one."""
    MEETING.wait()
    return "met"


def answer(prompt):
    last = prompt.turns[-1]
    if last.role == "tool":
        return f"Done: {last.text}"
    word, _, rest = last.text.partition(" ")
    match word:
        case "draw":
            return calls("draw", name=rest.split()[0])
        case "wait" | "meet":
            return calls(word)
        case "ask":
            return calls("ask_user", question="Which year?")
        case "refuse":
            return calls("reject_task", reason="That is not a clerk's work.")
        case "break":
            raise RuntimeError("the clerk broke")
    return f"{GREETING} {last.text}"


def model():
    return ScriptedModel.from_function(answer)


agent = Agent(
    name="clerk",
    description="A clerk for tests.",
    tools=[draw, wait, meet],
    models={"scripted": model, "demo": model},
)
handler = serve(agent)
'''


def write_agent_folder(folder: Path, app: str = APP_SOURCE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.py").write_text(app)
    (folder / "manners.py").write_text('GREETING = "Good day."\n')
    return folder
