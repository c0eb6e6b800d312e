"""The demo model: shows the whole path of a task without a language model, a key or a network.

It is a handful of rules. It looks at what the tools have answered so far and makes the next call, so it can go on in
another process at any point. It answers with sentences that it picks out of the documents, and says what it is.
"""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agentfn.models import ModelRequest, ModelResponse, ToolCall
from librarian.demo.conversation import CompletedCall, Conversation
from librarian.demo.extracts import best_extracts, leading_extracts, split_extracts
from librarian.demo.question import Question, classify_question
from librarian.packet import NO_FILES
from librarian.summaries import DIGESTS_HEADER, PART_HEADER

logger = logging.getLogger("agentfn.demo")

DEMO_NOTICE = (
    "This was done by the demo model: a few rules, not a language model. It picks sentences out of the documents and "
    "understands nothing."
)
MODEL_HINT = (
    "For a real librarian, set AGENT_MODEL (such as anthropic/claude-sonnet-4-5, with the key in AGENT_MODEL_API_KEY, "
    "or a bedrock/ model, which needs no key)."
)
NO_DOCUMENT_QUESTION = "Please attach the documents: PDF, .docx, HTML, Markdown or plain text."
NO_MATCH_ANSWER = "Nothing in the packet shares a word with the question."
MAX_READS = 3
# A passage as `search` shows it; a document alone is not named.
PASSAGE_LINE = re.compile(
    r'^\d+\. (?:(?P<document>.+?), )??(?:Item [\w.-]+, |"[^"]*", )?(?:pp?\.|§§?) (?P<pages>\d+(?:–\d+)?)'  # noqa: RUF001
    r"(?: \(.*?\))?, score ",
    re.MULTILINE,
)
# A tool and its arguments.
type ToolStep = tuple[str, dict[str, Any]]


class DemoModel:
    """A door to no model at all. `pause` is how many seconds it waits before each reply."""

    name = "demo"

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._announced = False

    async def generate(self, request: ModelRequest) -> ModelResponse:
        if not self._announced:
            self._announced = True
            logger.warning("the demo model answers: rules, not a language model. %s", MODEL_HINT)
        await asyncio.sleep(self._pause)
        return _nested_response(request) or next_response(Conversation.from_request(request))


def next_response(conversation: Conversation) -> ModelResponse:
    """The next step of the work: what has been answered decides."""
    wanted = classify_question(conversation.question)
    for steps, progress in _plan_stages(conversation, wanted):
        if left := _pending_steps(conversation, steps):
            return _call_tools(conversation, left, progress)
        if errors := [
            answer.error for name, given in steps if (answer := conversation.call_with(name, given)) and answer.error
        ]:
            return _ask_user(conversation, errors)
    return ModelResponse(f"{_final_answer(conversation, wanted)}\n\n{DEMO_NOTICE} {MODEL_HINT}")


def _plan_stages(story: Conversation, wanted: Question) -> Iterable[tuple[list[ToolStep], str]]:
    """Each stage's calls depend on the answers of the stage before."""
    yield [("list_items", {})], "Looking at the documents."
    match wanted.kind:
        case "report":
            yield [("report", {"title": "What is in the packet"})], "Reading everything for the report."
        case "summary":
            yield [("summarise", {"item": wanted.item} if wanted.item else {})], "Reading everything."
        case "find":
            yield [("find_text", {"text": wanted.text})], ""
        case "item":
            yield [("read", {"item": wanted.item})], f"Reading item {wanted.item}."
        case "question":
            yield [("search", {"query": story.question})], "Searching."
            yield [("read", given) for given in _passages_to_read(story)], ""


def _passages_to_read(story: Conversation) -> list[dict[str, Any]]:
    """Where the best passages are."""
    found = [match.groupdict() for answer in story.calls_of("search") for match in PASSAGE_LINE.finditer(answer.text)]
    places = [{name: value for name, value in place.items() if value} for place in found]
    return [place for number, place in enumerate(places) if place not in places[:number]][:MAX_READS]


def _final_answer(story: Conversation, wanted: Question) -> str:
    match wanted.kind:
        case "report" | "summary" | "find" | "items":
            tool = {"report": "report", "summary": "summarise", "find": "find_text", "items": "list_items"}[wanted.kind]
            return "\n\n".join(_strip_paging(answer) for answer in story.calls_of(tool))
    found = [one for answer in story.calls_of("read") for one in split_extracts(_strip_paging(answer))]
    if wanted.kind == "item":
        return "\n".join(f"- {one}" for one in leading_extracts(found))
    return "\n\n".join(map(str, best_extracts(story.question, found))) or NO_MATCH_ANSWER


def _strip_paging(answer: CompletedCall) -> str:
    """The result without the words for models at its end."""
    return re.sub(r'\n\{"has_more": .*\}\s*$', "", answer.text)


def _nested_response(prompt: ModelRequest) -> ModelResponse | None:
    """The answer in an inner loop of `summarise` or `report`, None where this is none."""
    asking = next((turn.text for turn in prompt.turns if turn.role == "user"), "")
    for sign, most in ((PART_HEADER, 4), (DIGESTS_HEADER, 0)):
        _, found, text = asking.partition(f"{sign}\n\n")
        if found:
            return ModelResponse(
                "\n".join(f"- {one}" for one in leading_extracts(split_extracts(text), most))
                if most
                else _first_lines(text)
            )
    return None


def _first_lines(digests: str) -> str:
    """The first line of each digest."""
    bodies = re.split(r"^\[.+\]$", digests, flags=re.MULTILINE)
    return "\n".join(line for body in bodies for line in body.strip().splitlines()[:1])


def _pending_steps(story: Conversation, steps: Sequence[ToolStep]) -> list[ToolStep]:
    """Those of the steps that can be taken and have no answer yet."""
    return [(name, given) for name, given in steps if name in story.tool_names and not story.call_with(name, given)]


def _call_tools(story: Conversation, steps: Sequence[ToolStep], progress: str = "") -> ModelResponse:
    told = [("report_progress", {"text": progress})] if progress and "report_progress" in story.tool_names else []
    calls = enumerate([*told, *steps], story.call_count + 1)
    made = tuple(ToolCall(f"demo_{number}", name, json.dumps(given)) for number, (name, given) in calls)
    return ModelResponse(tool_calls=made, finish_reason="tool_calls")


def _ask_user(story: Conversation, reasons: Sequence[str]) -> ModelResponse:
    question = NO_DOCUMENT_QUESTION if NO_FILES in reasons else " ".join(dict.fromkeys(reasons))
    if "ask_user" in story.tool_names:
        return _call_tools(story, [("ask_user", {"question": question})])
    return ModelResponse(f"{question} {DEMO_NOTICE}")
