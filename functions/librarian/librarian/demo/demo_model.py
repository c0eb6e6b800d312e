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

from agentfn.models import Call, Prompt, Reply
from librarian.demo.conversation import Answered, Story
from librarian.demo.extracts import best, extracts, opening
from librarian.demo.question import Asked, asked
from librarian.packet import NO_FILES
from librarian.summaries import DIGESTS, PART

logger = logging.getLogger("agentfn.demo")

NOTICE = (
    "This was done by the demo model: a few rules, not a language model. It picks sentences out of the documents and "
    "understands nothing."
)
REMEDY = (
    "For a real librarian, set AGENT_MODEL (such as anthropic/claude-sonnet-4-5, with the key in AGENT_MODEL_API_KEY, "
    "or a bedrock/ model, which needs no key)."
)
WANTED = "Please attach the documents: PDF, .docx, HTML, Markdown or plain text."
NOTHING = "Nothing in the packet shares a word with the question."
MOST_READ = 3
# A passage as `search` shows it; a document alone is not named.
PASSAGE = re.compile(
    r'^\d+\. (?:(?P<document>.+?), )??(?:Item [\w.-]+, |"[^"]*", )?(?:pp?\.|§§?) (?P<pages>\d+(?:–\d+)?)'  # noqa: RUF001
    r"(?: \(.*?\))?, score ",
    re.MULTILINE,
)
# A tool and its arguments.
type Step = tuple[str, dict[str, Any]]


class DemoModel:
    """A door to no model at all. `pause` is how many seconds it waits before each reply."""

    name = "demo"

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._announced = False

    async def ask(self, prompt: Prompt) -> Reply:
        if not self._announced:
            self._announced = True
            logger.warning("the demo model answers: rules, not a language model. %s", REMEDY)
        await asyncio.sleep(self._pause)
        return _inner(prompt) or reply(Story.of(prompt))


def reply(story: Story) -> Reply:
    """The next step of the work: what has been answered decides."""
    wanted = asked(story.question)
    for steps, progress in _stages(story, wanted):
        if left := _open(story, steps):
            return _calls(story, left, progress)
        if errors := [answer.error for name, given in steps if (answer := story.result(name, given)) and answer.error]:
            return _ask(story, errors)
    return Reply(f"{_answer(story, wanted)}\n\n{NOTICE} {REMEDY}")


def _stages(story: Story, wanted: Asked) -> Iterable[tuple[list[Step], str]]:
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
            yield [("read", given) for given in _places(story)], ""


def _places(story: Story) -> list[dict[str, Any]]:
    """Where the best passages are."""
    found = [match.groupdict() for answer in story.results("search") for match in PASSAGE.finditer(answer.text)]
    places = [{name: value for name, value in place.items() if value} for place in found]
    return [place for number, place in enumerate(places) if place not in places[:number]][:MOST_READ]


def _answer(story: Story, wanted: Asked) -> str:
    match wanted.kind:
        case "report" | "summary" | "find" | "items":
            tool = {"report": "report", "summary": "summarise", "find": "find_text", "items": "list_items"}[wanted.kind]
            return "\n\n".join(_told(answer) for answer in story.results(tool))
    found = [one for answer in story.results("read") for one in extracts(_told(answer))]
    if wanted.kind == "item":
        return "\n".join(f"- {one}" for one in opening(found))
    return "\n\n".join(map(str, best(story.question, found))) or NOTHING


def _told(answer: Answered) -> str:
    """The result without the words for models at its end."""
    return re.sub(r'\n\{"has_more": .*\}\s*$', "", answer.text)


def _inner(prompt: Prompt) -> Reply | None:
    """The answer in an inner loop of `summarise` or `report`, None where this is none."""
    asking = next((turn.text for turn in prompt.turns if turn.role == "user"), "")
    for sign, most in ((PART, 4), (DIGESTS, 0)):
        _, found, text = asking.partition(f"{sign}\n\n")
        if found:
            return Reply("\n".join(f"- {one}" for one in opening(extracts(text), most)) if most else _firsts(text))
    return None


def _firsts(digests: str) -> str:
    """The first line of each digest."""
    bodies = re.split(r"^\[.+\]$", digests, flags=re.MULTILINE)
    return "\n".join(line for body in bodies for line in body.strip().splitlines()[:1])


def _open(story: Story, steps: Sequence[Step]) -> list[Step]:
    """Those of the steps that can be taken and have no answer yet."""
    return [(name, given) for name, given in steps if name in story.tools and not story.result(name, given)]


def _calls(story: Story, steps: Sequence[Step], progress: str = "") -> Reply:
    told = [("report_progress", {"text": progress})] if progress and "report_progress" in story.tools else []
    calls = enumerate([*told, *steps], story.made + 1)
    made = tuple(Call(f"demo_{number}", name, json.dumps(given)) for number, (name, given) in calls)
    return Reply(calls=made, finish="tool_calls")


def _ask(story: Story, reasons: Sequence[str]) -> Reply:
    question = WANTED if NO_FILES in reasons else " ".join(dict.fromkeys(reasons))
    if "ask_user" in story.tools:
        return _calls(story, [("ask_user", {"question": question})])
    return Reply(f"{question} {NOTICE}")
