"""All that the librarian can do."""

from librarian.looking import find_text, list_items, read, search
from librarian.summing import report, summarise

TOOLS = [list_items, find_text, search, read, summarise, report]
