"""Writes a task root (/var/task): an agent, and plain handlers."""

from pathlib import Path

AGENT_APP = '''
"""A clerk: the first word of a message says what he does."""

import os
import time
from pathlib import Path

from agentfn import Agent, Context, serve, tool
from agentfn.testing import ScriptedModel
from agentfn.testing.scripted_model import calls

GATE = Path(os.environ["GATE"])


@tool(idempotent=True, timeout_seconds=60)
def wait(context: Context) -> str:
    """Waits at the gate."""
    while not GATE.exists():
        time.sleep(0.02)
    return "open"


def answer(prompt):
    last = prompt.turns[-1]
    if last.role == "tool":
        return f"The gate is {last.text}."
    return calls("wait") if last.text.startswith("wait") else f"Good day, {last.text}."


agent = Agent(
    name="clerk",
    description="A clerk for tests.",
    tools=[wait],
    models={"scripted": lambda: ScriptedModel.from_function(answer)},
)
handler = serve(agent)
'''

PLAIN_HANDLERS = '''
"""A handler as any function has it: the event says what it does."""

import logging
import os
import uuid
from decimal import Decimal

CALLS = []


def handler(event, context):
    CALLS.append(event)
    match event["do"]:
        case "tell":
            left = context.get_remaining_time_in_millis()
            return {name: getattr(context, name) for name in event["of"]} | {"left": left, "calls": len(CALLS)}
        case "identify":
            client = context.client_context
            return [client.custom, client.client.app_title, context.identity.cognito_identity_id, context.tenant_id]
        case "trace":
            return os.environ.get("_X_AMZN_TRACE_ID")
        case "count":
            return {"whole": Decimal(3), "half": Decimal("2.5"), "text": "größer"}
        case "bytes":
            return b"raw"
        case "object":
            return object()
        case "break":
            raise LookupError("nothing under that name")
        case "log":
            logging.getLogger("somebody").warning("two\\nlines")
            print("and a third")
        case "much":
            return "x" * 6_300_000
'''

SPOKEN_HANDLERS = '''
"""A handler that answers part by part, and does what the path says."""

GONE = []


def body(content):
    return {"type": "http.response.body", "body": content, "more_body": True}


class Speaker:
    def __call__(self, event, context):
        return {"gone": GONE}

    def stream(self, event, context, send):
        if event["path"] == "/early":
            raise RuntimeError("before a word")
        if event["path"] == "/silent":
            return
        pairs = [(b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2"), (b"Vary", b"x"), (b"Vary", b"y"), (b"X-One", b"1")]
        send({"type": "http.response.start", "status": 201, "headers": [*pairs, (b"Content-Length", b"99")]})
        if event["path"] == "/empty":
            send(body(b""))
            return
        send(body(b"first "))
        if event["path"] == "/late":
            raise RuntimeError("in the middle")
        try:
            for _ in range(1000 if event["path"] == "/gone" else 1):
                send(body(b"last" * 10_000 if event["path"] == "/gone" else b"last"))
        except OSError as error:
            GONE.append(str(error))


handler = Speaker()
'''

HOOKS = '''
"""What snapshot_restore_py is in Lambda's runtime."""

before, after = [], []


def register_before_snapshot(hook, *arguments, **named):
    before.append((hook, arguments, named))
    return hook


def register_after_restore(hook, *arguments, **named):
    after.append((hook, arguments, named))
    return hook


def get_before_snapshot():
    return before


def get_after_restore():
    return after
'''

SNAPSHOT_APP = '''
"""A handler with hooks of its own."""

import os

from snapshot_restore_py import register_after_restore, register_before_snapshot

DONE = []


@register_before_snapshot
def first():
    if os.environ.get("BREAKS") == "before":
        raise RuntimeError("not to be kept")
    DONE.append("before, registered first")


register_before_snapshot(DONE.append, "before, registered last")
register_after_restore(DONE.append, "after, registered first")


@register_after_restore
def last():
    if os.environ.get("BREAKS") == "after":
        raise RuntimeError("not to be used")
    DONE.append("after, registered last")


def handler(event, context):
    return DONE
'''

BROKEN_HANDLERS = "import nothing_of_that_name\n\nhandler = None\n"

TASK_ROOT_FILES = {
    "app": AGENT_APP,
    "plain": PLAIN_HANDLERS,
    "spoken": SPOKEN_HANDLERS,
    "snapped": SNAPSHOT_APP,
    "broken": BROKEN_HANDLERS,
}


def write_task_root(folder: Path) -> Path:
    for name, text in {**TASK_ROOT_FILES, "snapshot_restore_py": HOOKS}.items():
        (folder / f"{name}.py").write_text(text)
    return folder
