"""The librarian's demo model: it runs a whole task without a language model, a key or a network.

Its rules read the tool results so far and make the next calls, so a task can continue in another process at any point.
The answer consists of sentences from the documents and says that no language model was used.
"""

import re
from collections.abc import Iterable
from typing import Any

from agentfn.models import CompletedCall, Conversation, ModelRequest, ModelResponse, RuleBasedModel, ToolStep
from librarian.demo.extracts import best_extracts, leading_extracts, split_extracts
from librarian.demo.question import Question, classify_question
from librarian.packet import NO_FILES
from librarian.summaries import DIGESTS_HEADER, PART_HEADER

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
MIN_QUESTION_WORDS = 4
# A passage as `search` shows it. The name of the document is missing if there is only one.
PASSAGE_LINE = re.compile(
    r'^\d+\. (?:(?P<document>.+?), )??(?:Item [\w.-]+, |"[^"]*", )?(?:pp?\.|§§?) (?P<pages>\d+(?:–\d+)?)'  # noqa: RUF001
    r"(?: \(.*?\))?, score ",
    re.MULTILINE,
)


def demo_model(pause: float = 0.0) -> RuleBasedModel:
    """The model, which waits `pause` seconds before each response."""
    warning = f"the demo model answers: rules, not a language model. {MODEL_HINT}"
    return RuleBasedModel(respond, warning=warning, pause=pause)


def respond(request: ModelRequest) -> ModelResponse:
    """The response to the agent's own loop or to a nested loop of `summarise` or `report`."""
    return _nested_response(request) or next_response(Conversation.from_request(request))


def next_response(conversation: Conversation) -> ModelResponse:
    """The next tool calls, or the final answer when all of them have results."""
    question_text = find_question(conversation.user_texts)
    question = classify_question(question_text)
    for steps, progress in _plan_stages(conversation, question_text, question):
        if pending := conversation.pending_steps(steps):
            return conversation.call_tools(pending, progress)
        calls = [conversation.call_with(name, arguments) for name, arguments in steps]
        if errors := [call.error for call in calls if call and call.error]:
            text = NO_DOCUMENT_QUESTION if NO_FILES in errors else " ".join(dict.fromkeys(errors))
            return conversation.ask_user(text, DEMO_NOTICE)
    return ModelResponse(f"{_final_answer(conversation, question_text, question)}\n\n{DEMO_NOTICE} {MODEL_HINT}")


def find_question(texts: tuple[str, ...]) -> str:
    """The last of the user's messages that is long enough to be a question, else all of them."""
    long_texts = (text for text in reversed(texts) if len(text.split()) >= MIN_QUESTION_WORDS)
    return next(long_texts, " ".join(filter(None, texts)))


def _plan_stages(conversation: Conversation, text: str, question: Question) -> Iterable[tuple[list[ToolStep], str]]:
    """The steps of each stage and its progress text. A stage needs the results of the stage before."""
    yield [("list_items", {})], "Looking at the documents."
    match question.kind:
        case "report":
            yield [("report", {"title": "What is in the packet"})], "Reading everything for the report."
        case "summary":
            yield [("summarise", {"item": question.item} if question.item else {})], "Reading everything."
        case "find":
            yield [("find_text", {"text": question.text})], ""
        case "item":
            yield [("read", {"item": question.item})], f"Reading item {question.item}."
        case "question":
            yield [("search", {"query": text})], "Searching."
            yield [("read", arguments) for arguments in _passages_to_read(conversation)], ""


def _passages_to_read(conversation: Conversation) -> list[dict[str, Any]]:
    """Arguments of `read` for the best passages that `search` has found."""
    matches = [
        match.groupdict() for call in conversation.calls_of("search") for match in PASSAGE_LINE.finditer(call.text)
    ]
    passages = [{name: value for name, value in groups.items() if value} for groups in matches]
    return [passage for index, passage in enumerate(passages) if passage not in passages[:index]][:MAX_READS]


def _final_answer(conversation: Conversation, text: str, question: Question) -> str:
    tools = {"report": "report", "summary": "summarise", "find": "find_text", "items": "list_items"}
    if question.kind in tools:
        return "\n\n".join(_strip_paging(call) for call in conversation.calls_of(tools[question.kind]))
    extracts = [extract for call in conversation.calls_of("read") for extract in split_extracts(_strip_paging(call))]
    if question.kind == "item":
        return "\n".join(f"- {extract}" for extract in leading_extracts(extracts))
    return "\n\n".join(map(str, best_extracts(text, extracts))) or NO_MATCH_ANSWER


def _strip_paging(call: CompletedCall) -> str:
    """The result without the paging fields at its end."""
    return re.sub(r'\n\{"has_more": .*\}\s*$', "", call.text)


def _nested_response(request: ModelRequest) -> ModelResponse | None:
    """The response to a nested loop of `summarise` or `report`, None in the agent's own loop."""
    message = next((turn.text for turn in request.turns if turn.role == "user"), "")
    _, is_part, part = message.partition(f"{PART_HEADER}\n\n")
    if is_part:
        return ModelResponse("\n".join(f"- {extract}" for extract in leading_extracts(split_extracts(part), 4)))
    _, is_digests, digests = message.partition(f"{DIGESTS_HEADER}\n\n")
    return ModelResponse(_first_lines(digests)) if is_digests else None


def _first_lines(digests: str) -> str:
    """The first line of each digest."""
    bodies = re.split(r"^\[.+\]$", digests, flags=re.MULTILINE)
    return "\n".join(line for body in bodies for line in body.strip().splitlines()[:1])
