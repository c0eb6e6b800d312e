"""Tools for models without dependable tool calling: one JSON object in plain text for each action."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentfn.loop.tool_calls.lifecycle_tools import finish
from agentfn.loop.tool_protocols.json_extraction import find_json_objects
from agentfn.loop.tool_protocols.tool_protocol import TOOLS_OFF_PROMPT, RetryPrompt, drop_calls
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.tools.tool_output import replace_surrogates

FINAL_ANSWER = "final_answer"  # what `finish` is called here: models know the word
TOOL_KEYS = ("tool", "action", "name", "tool_name")
ARGUMENT_KEYS = ("args", "arguments", "action_input", "parameters", "input")
ANSWER_KEYS = ("text", "answer", FINAL_ANSWER, "content", "result")

ACTION_RULES = """You act by replying with exactly one JSON object and nothing else:

{{"thought": "why this is the next thing to do", "tool": "the tool's name", "args": {{…}}}}

You then get the tool's result as the next message, and reply with the next object. Never write a result yourself. \
When you are done, reply with {{"thought": "…", "tool": "final_answer", "args": {{"text": "your answer"}}}}.
{first}
Tools:

{tools}"""
TOOL_FIRST_RULE = "Begin with a tool, not with the final answer.\n"
TRUNCATED_PROMPT = (
    "Your reply was cut off at the output limit, so nothing was run. Reply with a shorter JSON object: fewer words, "
    "smaller arguments."
)
MALFORMED_PROMPT = (
    'Your reply holds no action. Reply with exactly one JSON object: {"thought": "…", "tool": "…", "args": {…}}; '
    'for your answer the tool is "final_answer" with args {"text": "…"}.'
)


class JsonToolProtocol:
    """One action a turn. A model that does the same twice in a row is told so, and it is not done again."""

    can_stream = False
    max_repeats = 1

    def to_request(self, request: ModelRequest) -> ModelRequest:
        turns = tuple(_merge_same_role(_to_plain_turn(turn) for turn in request.turns))
        if not request.tools:
            return dataclasses.replace(request, turns=turns)
        closing = request.tool_choice == "none"
        return dataclasses.replace(
            request,
            system=f"{request.system}\n\n{_action_rules(request)}".strip(),
            turns=turns,
            tools=(),
            tool_choice="auto",
            schema=None if closing else _action_schema(request),
        )

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        closing = request.tool_choice == "none"
        if closing:
            response = drop_calls(response)
        if response.tool_calls or response.finish_reason == "content_filter" or not request.tools:
            return response
        action = _find_action(response.text)
        if action is None:
            return _read_final_text(response) if closing else _retry_prompt(response)
        thought, name, arguments = action
        if name in (FINAL_ANSWER, finish.name):
            return _read_final_answer(response, arguments, closing)
        if closing:
            return RetryPrompt(TOOLS_OFF_PROMPT, response.text)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return dataclasses.replace(
            response, text=thought, tool_calls=(ToolCall("", name, text),), finish_reason="tool_calls"
        )

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        action = _find_action(response.text)
        half = response.finish_reason == "length" and response.text.lstrip().startswith("{")
        text = action[0] if action else "" if half else response.text
        return dataclasses.replace(response, tool_calls=(), text=text)


def _find_action(text: str) -> tuple[str, str, Any] | None:
    """Thought, tool and arguments of the first object that names a tool."""
    for shape in find_json_objects(text):
        name = _first_value(shape, TOOL_KEYS)
        bare = "tool" not in shape and _first_value(shape, ARGUMENT_KEYS) is None
        if isinstance(name, str) and name and not bare:
            thought = shape.get("thought", "")
            return thought if isinstance(thought, str) else "", name, _first_value(shape, ARGUMENT_KEYS) or {}
        if isinstance(answer := shape.get(FINAL_ANSWER), str):
            return "", FINAL_ANSWER, answer
    return None


def _retry_prompt(reply: ModelResponse) -> RetryPrompt:
    return RetryPrompt(
        TRUNCATED_PROMPT if reply.finish_reason == "length" else MALFORMED_PROMPT,
        reply.text if reply.text.strip() else "",
    )


def _read_final_text(reply: ModelResponse) -> ModelResponse | RetryPrompt:
    """Plain text, or a stray object that holds nothing but an answer."""
    for shape in find_json_objects(reply.text):
        answer = _first_value(shape, ANSWER_KEYS)
        if isinstance(answer, str) and shape.keys() <= {"thought", *ANSWER_KEYS}:
            return dataclasses.replace(reply, text=answer, finish_reason="stop")
    return reply if reply.text.strip() else RetryPrompt(TOOLS_OFF_PROMPT)


def _read_final_answer(reply: ModelResponse, arguments: Any, closing: bool) -> ModelResponse | RetryPrompt:
    """The answer as plain text, or as a call of `finish` where it chooses among the files."""
    files = arguments.get("files") if isinstance(arguments, dict) else None
    answer = _first_value(arguments, ANSWER_KEYS) if isinstance(arguments, dict) else arguments
    if not isinstance(answer, str):
        answer = json.dumps(answer if answer is not None else arguments, ensure_ascii=False)
    if not answer.strip() or answer == "{}":
        return RetryPrompt('Your final answer is empty. Put it into args, as {"text": "…"}.', reply.text)
    if not files or closing:
        return dataclasses.replace(reply, text=answer, finish_reason="stop")
    call = ToolCall("", finish.name, json.dumps({"text": answer, "files": files}, ensure_ascii=False))
    return dataclasses.replace(reply, text="", tool_calls=(call,), finish_reason="tool_calls")


def _first_value(shape: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((shape[name] for name in names if name in shape), None)


def _to_plain_turn(turn: Turn) -> Turn:
    """A turn without calls: an action as the text that it was, a result as the user's message."""
    if turn.role == "tool":
        return Turn("user", f"Result of {_shown_name(turn.tool_name)}:\n{turn.text}")
    if not turn.tool_calls:
        return turn
    return Turn(
        "assistant",
        "\n".join(_action_json(turn.text if not place else "", call) for place, call in enumerate(turn.tool_calls)),
    )


def _action_json(thought: str, call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.arguments
    return replace_surrogates(
        json.dumps({"thought": thought, "tool": _shown_name(call.name), "args": arguments}, ensure_ascii=False)
    )


def _merge_same_role(turns: Iterable[Turn]) -> list[Turn]:
    """With users and assistants taking turns: templates of local models want it so."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            merged[-1] = dataclasses.replace(merged[-1], text=f"{merged[-1].text}\n\n{turn.text}")
        elif turn.role == "user" or turn.text.strip():
            merged.append(turn)
    return merged


def _shown_name(name: str) -> str:
    return FINAL_ANSWER if name == finish.name else name


def _action_rules(prompt: ModelRequest) -> str:
    tools = "\n".join(_describe_tool(tool["function"]) for tool in prompt.tools)
    return ACTION_RULES.format(first=TOOL_FIRST_RULE if prompt.tool_choice == "required" else "", tools=tools)


def _describe_tool(function: dict[str, Any]) -> str:
    schema = json.dumps(function["parameters"], ensure_ascii=False)
    return f"- {_shown_name(function['name'])}: {function['description']}\n  args: {schema}"


def _action_schema(prompt: ModelRequest) -> dict[str, Any]:
    """Of one action, for providers that hold a model to it."""
    names = [_shown_name(tool["function"]["name"]) for tool in prompt.tools]
    if FINAL_ANSWER not in names:
        names.append(FINAL_ANSWER)
    properties = {"thought": {"type": "string"}, "tool": {"type": "string", "enum": names}, "args": {"type": "object"}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
