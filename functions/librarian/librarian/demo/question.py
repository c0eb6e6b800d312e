"""Classifies a question by its words."""

import re
from dataclasses import dataclass
from typing import Literal

QuestionKind = Literal["report", "summary", "items", "find", "item", "question"]

REPORT_WORDS = re.compile(r"\b(?:write|make|give|prepare|draft)\b.*\breport\b|^report\b", re.IGNORECASE | re.DOTALL)
SUMMARY_WORDS = re.compile(r"\b(?:summar\w+|overview|sum up|in short|digest)\b", re.IGNORECASE)
ITEM_LIST_WORDS = re.compile(
    r"\b(?:list|which|what)\b[^.?]*\b(?:items|documents)\b|\btable of contents\b|^what is in (?:the|this) packet",
    re.IGNORECASE,
)
QUOTED_TEXT = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d]{2,200})[\"\u201d\u201c]")
FIND_WORDS = re.compile(
    r"\b(?:how often|how many times|where|mention\w*|occur\w*|appear\w*|find|says?|stands?)\b", re.IGNORECASE
)
ITEM_NUMBER = re.compile(r"\bitem\s+(\d{1,3}(?:\.\d{1,3})*[a-z]?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """A classified question. `text` is the quoted text to find, `item` the id of the item that it names."""

    kind: QuestionKind
    text: str = ""
    item: str = ""


def classify_question(question: str) -> Question:
    quoted, item = QUOTED_TEXT.search(question), ITEM_NUMBER.search(question)
    item_id = item[1] if item else ""
    if REPORT_WORDS.search(question):
        return Question("report", item=item_id)
    if SUMMARY_WORDS.search(question) or not question.strip():
        return Question("summary", item=item_id)
    if ITEM_LIST_WORDS.search(question):
        return Question("items")
    if quoted and FIND_WORDS.search(question):
        return Question("find", quoted[1].strip(" .,?"))
    return Question("item", item=item_id) if item_id else Question("question")
