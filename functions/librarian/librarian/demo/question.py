"""A question in words: what kind it is, as far as rules can tell."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["report", "summary", "items", "find", "item", "question"]

REPORT = re.compile(r"\b(?:write|make|give|prepare|draft)\b.*\breport\b|^report\b", re.IGNORECASE | re.DOTALL)
SUMMARY = re.compile(r"\b(?:summar\w+|overview|sum up|in short|digest)\b", re.IGNORECASE)
ITEMS = re.compile(
    r"\b(?:list|which|what)\b[^.?]*\b(?:items|documents)\b|\btable of contents\b|^what is in (?:the|this) packet",
    re.IGNORECASE,
)
QUOTED = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d]{2,200})[\"\u201d\u201c]")
FIND = re.compile(
    r"\b(?:how often|how many times|where|mention\w*|occur\w*|appear\w*|find|says?|stands?)\b", re.IGNORECASE
)
ITEM = re.compile(r"\bitem\s+(\d{1,3}(?:\.\d{1,3})*[a-z]?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """`text` is what is quoted, to be found; `item` the id of an item that is named."""

    kind: Kind
    text: str = ""
    item: str = ""


def asked(question: str) -> Asked:
    quoted, item = QUOTED.search(question), ITEM.search(question)
    named = item[1] if item else ""
    if REPORT.search(question):
        return Asked("report", item=named)
    if SUMMARY.search(question) or not question.strip():
        return Asked("summary", item=named)
    if ITEMS.search(question):
        return Asked("items")
    if quoted and FIND.search(question):
        return Asked("find", quoted[1].strip(" .,?"))
    return Asked("item", item=named) if named else Asked("question")
