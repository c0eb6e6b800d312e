"""The librarian's tools, as a list and as a toolkit for other agents."""

from agentfn import Toolkit
from librarian.lookup_tools import find_text, list_items, read, search
from librarian.summary_tools import report, summarise

CITATION_INSTRUCTIONS = (
    "Tools for a packet of documents. Items are named by the ids that `list_items` shows. A citation is what the tools "
    "put in brackets or before a colon, such as (Item 5.2, p. 13): copy it behind every statement, with the pages that "
    "you read."
)

TOOLS = [list_items, find_text, search, read, summarise, report]
PACKET_TOOLS = Toolkit(TOOLS, CITATION_INSTRUCTIONS)
