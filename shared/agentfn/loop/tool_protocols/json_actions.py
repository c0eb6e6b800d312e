"""Tools for models without dependable tool calling: one JSON object in plain text for each action."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentfn.loop.tool_calls.lifecycle_tools import finish
from agentfn.loop.tool_protocols.json_extraction import objects_in
from agentfn.loop.tool_protocols.tool_protocol import TOOLS_OFF, Nudge, without_calls
from agentfn.models import Call, Prompt, Reply, Turn
from agentfn.tools.tool_output import writable

FINAL = "final_answer"  # what `finish` is called here: models know the word
TOOL_KEYS = ("tool", "action", "name", "tool_name")
ARGUMENT_KEYS = ("args", "arguments", "action_input", "parameters", "input")
ANSWER_KEYS = ("text", "answer", FINAL, "content", "result")

RULES = """You act by replying with exactly one JSON object and nothing else:

{{"thought": "why this is the next thing to do", "tool": "the tool's name", "args": {{…}}}}

You then get the tool's result as the next message, and reply with the next object. Never write a result yourself. \
When you are done, reply with {{"thought": "…", "tool": "final_answer", "args": {{"text": "your answer"}}}}.
{first}
Tools:

{tools}"""
FIRST = "Begin with a tool, not with the final answer.\n"
CUT = (
    "Your reply was cut off at the output limit, so nothing was run. Reply with a shorter JSON object: fewer words, "
    "smaller arguments."
)
MALFORMED = (
    'Your reply holds no action. Reply with exactly one JSON object: {"thought": "…", "tool": "…", "args": {…}}; '
    'for your answer the tool is "final_answer" with args {"text": "…"}.'
)


class JsonActions:
    """One action a turn. A model that does the same twice in a row is told so, and it is not done again."""

    streams = False
    repeats = 1

    def prompt(self, prompt: Prompt) -> Prompt:
        turns = tuple(_merged(_plain(turn) for turn in prompt.turns))
        if not prompt.tools:
            return dataclasses.replace(prompt, turns=turns)
        closing = prompt.tool_choice == "none"
        return dataclasses.replace(
            prompt,
            system=f"{prompt.system}\n\n{_rules(prompt)}".strip(),
            turns=turns,
            tools=(),
            tool_choice="auto",
            schema=None if closing else _schema(prompt),
        )

    def read(self, reply: Reply, prompt: Prompt) -> Reply | Nudge:
        closing = prompt.tool_choice == "none"
        if closing:
            reply = without_calls(reply)
        if reply.calls or reply.finish == "content_filter" or not prompt.tools:
            return reply
        action = _action(reply.text)
        if action is None:
            return _closing_text(reply) if closing else _unread(reply)
        thought, name, arguments = action
        if name in (FINAL, finish.name):
            return _final(reply, arguments, closing)
        if closing:
            return Nudge(TOOLS_OFF, reply.text)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return dataclasses.replace(reply, text=thought, calls=(Call("", name, text),), finish="tool_calls")

    def give_up(self, reply: Reply) -> Reply:
        action = _action(reply.text)
        half = reply.finish == "length" and reply.text.lstrip().startswith("{")
        text = action[0] if action else "" if half else reply.text
        return dataclasses.replace(reply, calls=(), text=text)


def _action(text: str) -> tuple[str, str, Any] | None:
    """Thought, tool and arguments of the first object that names a tool."""
    for shape in objects_in(text):
        name = _first(shape, TOOL_KEYS)
        bare = "tool" not in shape and _first(shape, ARGUMENT_KEYS) is None
        if isinstance(name, str) and name and not bare:
            thought = shape.get("thought", "")
            return thought if isinstance(thought, str) else "", name, _first(shape, ARGUMENT_KEYS) or {}
        if isinstance(answer := shape.get(FINAL), str):
            return "", FINAL, answer
    return None


def _unread(reply: Reply) -> Nudge:
    return Nudge(CUT if reply.finish == "length" else MALFORMED, reply.text if reply.text.strip() else "")


def _closing_text(reply: Reply) -> Reply | Nudge:
    """Plain text, or a stray object that holds nothing but an answer."""
    for shape in objects_in(reply.text):
        answer = _first(shape, ANSWER_KEYS)
        if isinstance(answer, str) and shape.keys() <= {"thought", *ANSWER_KEYS}:
            return dataclasses.replace(reply, text=answer, finish="stop")
    return reply if reply.text.strip() else Nudge(TOOLS_OFF)


def _final(reply: Reply, arguments: Any, closing: bool) -> Reply | Nudge:
    """The answer as plain text, or as a call of `finish` where it chooses among the files."""
    files = arguments.get("files") if isinstance(arguments, dict) else None
    answer = _first(arguments, ANSWER_KEYS) if isinstance(arguments, dict) else arguments
    if not isinstance(answer, str):
        answer = json.dumps(answer if answer is not None else arguments, ensure_ascii=False)
    if not answer.strip() or answer == "{}":
        return Nudge('Your final answer is empty. Put it into args, as {"text": "…"}.', reply.text)
    if not files or closing:
        return dataclasses.replace(reply, text=answer, finish="stop")
    call = Call("", finish.name, json.dumps({"text": answer, "files": files}, ensure_ascii=False))
    return dataclasses.replace(reply, text="", calls=(call,), finish="tool_calls")


def _first(shape: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((shape[name] for name in names if name in shape), None)


def _plain(turn: Turn) -> Turn:
    """A turn without calls: an action as the text that it was, a result as the user's message."""
    if turn.role == "tool":
        return Turn("user", f"Result of {_told(turn.name)}:\n{turn.text}")
    if not turn.calls:
        return turn
    return Turn(
        "assistant", "\n".join(_written(turn.text if not place else "", call) for place, call in enumerate(turn.calls))
    )


def _written(thought: str, call: Call) -> str:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.arguments
    return writable(json.dumps({"thought": thought, "tool": _told(call.name), "args": arguments}, ensure_ascii=False))


def _merged(turns: Iterable[Turn]) -> list[Turn]:
    """With users and assistants taking turns: templates of local models want it so."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            merged[-1] = dataclasses.replace(merged[-1], text=f"{merged[-1].text}\n\n{turn.text}")
        elif turn.role == "user" or turn.text.strip():
            merged.append(turn)
    return merged


def _told(name: str) -> str:
    return FINAL if name == finish.name else name


def _rules(prompt: Prompt) -> str:
    tools = "\n".join(_declared(tool["function"]) for tool in prompt.tools)
    return RULES.format(first=FIRST if prompt.tool_choice == "required" else "", tools=tools)


def _declared(function: dict[str, Any]) -> str:
    schema = json.dumps(function["parameters"], ensure_ascii=False)
    return f"- {_told(function['name'])}: {function['description']}\n  args: {schema}"


def _schema(prompt: Prompt) -> dict[str, Any]:
    """Of one action, for providers that hold a model to it."""
    names = [_told(tool["function"]["name"]) for tool in prompt.tools]
    if FINAL not in names:
        names.append(FINAL)
    properties = {"thought": {"type": "string"}, "tool": {"type": "string", "enum": names}, "args": {"type": "object"}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
