"""The JSON tool protocol, for models without reliable tool calling: each action is a JSON object in plain text."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentfn.loop.tool_calls.lifecycle_tools import finish
from agentfn.loop.tool_protocols.json_extraction import find_json_objects
from agentfn.loop.tool_protocols.tool_protocol import TOOLS_OFF_PROMPT, RetryPrompt, drop_calls
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.tools.tool_output import replace_surrogates

FINAL_ANSWER = "final_answer"  # the name of `finish` in this protocol: models know it
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
    """A `ToolProtocol` with one action per turn. The same action twice in a row is not run again."""

    can_stream = False
    max_repeats = 1

    def to_request(self, request: ModelRequest) -> ModelRequest:
        turns = tuple(_merge_same_role(_to_plain_turn(turn) for turn in request.turns))
        if not request.tools:
            return dataclasses.replace(request, turns=turns)
        is_final = request.tool_choice == "none"
        return dataclasses.replace(
            request,
            system=f"{request.system}\n\n{_action_rules(request)}".strip(),
            turns=turns,
            tools=(),
            tool_choice="auto",
            schema=None if is_final else _action_schema(request),
        )

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        is_final = request.tool_choice == "none"
        if is_final:
            response = drop_calls(response)
        if response.tool_calls or response.finish_reason == "content_filter" or not request.tools:
            return response
        action = _find_action(response.text)
        if action is None:
            return _read_final_text(response) if is_final else _retry_prompt(response)
        thought, name, arguments = action
        if name in (FINAL_ANSWER, finish.name):
            return _read_final_answer(response, arguments, is_final)
        if is_final:
            return RetryPrompt(TOOLS_OFF_PROMPT, response.text)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls = (ToolCall("", name, text),)
        return dataclasses.replace(response, text=thought, tool_calls=calls, finish_reason="tool_calls")

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        action = _find_action(response.text)
        is_partial = response.finish_reason == "length" and response.text.lstrip().startswith("{")
        text = action[0] if action else "" if is_partial else response.text
        return dataclasses.replace(response, tool_calls=(), text=text)


def _find_action(text: str) -> tuple[str, str, Any] | None:
    """Thought, tool and arguments of the first object that names a tool."""
    for value in find_json_objects(text):
        name = _first_value(value, TOOL_KEYS)
        is_action = "tool" in value or _first_value(value, ARGUMENT_KEYS) is not None
        if isinstance(name, str) and name and is_action:
            thought = value.get("thought", "")
            return thought if isinstance(thought, str) else "", name, _first_value(value, ARGUMENT_KEYS) or {}
        if isinstance(answer := value.get(FINAL_ANSWER), str):
            return "", FINAL_ANSWER, answer
    return None


def _retry_prompt(response: ModelResponse) -> RetryPrompt:
    reason = TRUNCATED_PROMPT if response.finish_reason == "length" else MALFORMED_PROMPT
    return RetryPrompt(reason, response.text if response.text.strip() else "")


def _read_final_text(response: ModelResponse) -> ModelResponse | RetryPrompt:
    """The answer from plain text, or from an object that holds only an answer."""
    for value in find_json_objects(response.text):
        answer = _first_value(value, ANSWER_KEYS)
        if isinstance(answer, str) and value.keys() <= {"thought", *ANSWER_KEYS}:
            return dataclasses.replace(response, text=answer, finish_reason="stop")
    return response if response.text.strip() else RetryPrompt(TOOLS_OFF_PROMPT)


def _read_final_answer(response: ModelResponse, arguments: Any, is_final: bool) -> ModelResponse | RetryPrompt:
    """The answer as plain text, or as a call of `finish` if it selects files."""
    files = arguments.get("files") if isinstance(arguments, dict) else None
    answer = _first_value(arguments, ANSWER_KEYS) if isinstance(arguments, dict) else arguments
    if not isinstance(answer, str):
        answer = json.dumps(answer if answer is not None else arguments, ensure_ascii=False)
    if not answer.strip() or answer == "{}":
        return RetryPrompt('Your final answer is empty. Put it into args, as {"text": "…"}.', response.text)
    if not files or is_final:
        return dataclasses.replace(response, text=answer, finish_reason="stop")
    call = ToolCall("", finish.name, json.dumps({"text": answer, "files": files}, ensure_ascii=False))
    return dataclasses.replace(response, text="", tool_calls=(call,), finish_reason="tool_calls")


def _first_value(value: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _to_plain_turn(turn: Turn) -> Turn:
    """The turn as plain text: calls as the model's JSON, a result as a message of the user."""
    if turn.role == "tool":
        return Turn("user", f"Result of {_shown_name(turn.tool_name)}:\n{turn.text}")
    if not turn.tool_calls:
        return turn
    thoughts = [turn.text, *[""] * (len(turn.tool_calls) - 1)]
    actions = [_action_json(thought, call) for thought, call in zip(thoughts, turn.tool_calls, strict=True)]
    return Turn("assistant", "\n".join(actions))


def _action_json(thought: str, call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.arguments
    action = {"thought": thought, "tool": _shown_name(call.name), "args": arguments}
    return replace_surrogates(json.dumps(action, ensure_ascii=False))


def _merge_same_role(turns: Iterable[Turn]) -> list[Turn]:
    """Merges neighbours of one role: chat templates of local models require that the roles alternate."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            merged[-1] = dataclasses.replace(merged[-1], text=f"{merged[-1].text}\n\n{turn.text}")
        elif turn.role == "user" or turn.text.strip():
            merged.append(turn)
    return merged


def _shown_name(name: str) -> str:
    return FINAL_ANSWER if name == finish.name else name


def _action_rules(request: ModelRequest) -> str:
    tools = "\n".join(_describe_tool(tool["function"]) for tool in request.tools)
    return ACTION_RULES.format(first=TOOL_FIRST_RULE if request.tool_choice == "required" else "", tools=tools)


def _describe_tool(function: dict[str, Any]) -> str:
    schema = json.dumps(function["parameters"], ensure_ascii=False)
    return f"- {_shown_name(function['name'])}: {function['description']}\n  args: {schema}"


def _action_schema(request: ModelRequest) -> dict[str, Any]:
    """The JSON Schema of an action, for providers that enforce one."""
    names = [_shown_name(tool["function"]["name"]) for tool in request.tools]
    if FINAL_ANSWER not in names:
        names.append(FINAL_ANSWER)
    properties = {"thought": {"type": "string"}, "tool": {"type": "string", "enum": names}, "args": {"type": "object"}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
