"""The tools that look things up. Each call opens the packet afresh: calls of a task may run on different machines."""

from agentfn import Context, Output, ToolError, tool
from librarian.chunks import marked
from librarian.item_list import listed
from librarian.limits import FOUND, HITS, MOST_HITS, NEEDLE, READ
from librarian.locations import counted, end_of, named, paging, place, ranges
from librarian.packet import Packet, open_packet
from librarian.ranked_search import Hit, passages, rank, snippet
from librarian.text_search import Match, matches, pattern

SLOW = 300  # seconds: the first call of a run reads the whole packet


@tool(idempotent=True, seconds=SLOW)
def list_items(context: Context, document: str | None = None) -> Output:
    """Lists the documents of the packet and their items: id, title and pages, and how sure it is that they are items.

    Begin with this. Documents without pages are counted in sections, §.

    Args:
        document: Only this document, by its file name.
    """
    packet = open_packet(context)
    chosen = packet.chosen(document)
    items = sum(len(one.items) for one in chosen)
    return Output(listed(packet, chosen), summary=f"{counted(items, 'item')} in {counted(len(chosen), 'document')}")


@tool(idempotent=True, seconds=SLOW)
def find_text(
    text: str,
    context: Context,
    document: str | None = None,
    item: str | None = None,
    ignore_case: bool = True,
    offset: int = 0,
) -> Output:
    """Finds every place where exactly this text stands: how often, on which pages, and the words around it.

    Line breaks, spacing, hyphens at line ends and the kind of quotes make no difference. Use it for names, numbers and
    phrases; `search` is for questions.

    Args:
        text: The words as they stand in the document.
        document: Only in this document, by its file name.
        item: Only in this item, by its id.
        ignore_case: Whether capitals make no difference.
        offset: How many matches to pass over: next_offset of the call before.
    """
    packet = open_packet(context)
    if not text.strip() or len(text) > NEEDLE:
        raise ToolError(f"The text to find has 1 to {NEEDLE} characters.")
    wanted = pattern(text, ignore_case=ignore_case)
    found = [
        match for one, first, last in ranges(packet, document, item) for match in matches(one, wanted, first, last)
    ]
    if not found:
        return Output(f'"{text}" is nowhere there. Try fewer words, or search.', summary="no match")
    offset = max(0, offset)
    number = counted(len(found), "match", "matches")
    lines = [f"- {_cited(packet, match)}: {match}" for match in found[offset : offset + FOUND]]
    head = f"{number}: {named(_cited(packet, match) for match in found)}."
    return Output("\n".join([head, *lines]), paging(len(found) > offset + FOUND, offset + FOUND), summary=number)


@tool(idempotent=True, seconds=SLOW)
def search(query: str, context: Context, document: str | None = None, most: int = HITS) -> Output:
    """Ranks the passages of the packet by how well they fit a question or keywords, with the page and item of each.

    A snippet is for finding the place: `read` it before you answer from it.

    Args:
        query: A question or keywords.
        document: Only in this document, by its file name.
        most: How many passages to show, at most 15.
    """
    packet = open_packet(context)
    hits = rank(query, passages(packet.chosen(document)))[: min(max(most, 1), MOST_HITS)]
    if not hits:
        return Output("No passage shares a word with that. Try other words.", summary="nothing found")
    lines = [f"{number}. {_shown(packet, hit, query)}" for number, hit in enumerate(hits, 1)]
    return Output("\n".join(lines), summary=f"{counted(len(hits), 'passage')}, best {_where(packet, hits[0])}")


@tool(idempotent=True, seconds=SLOW)
def read(
    context: Context, item: str | None = None, pages: str | None = None, document: str | None = None, offset: int = 0
) -> Output:
    """Reads an item or a range of pages (or sections), each page under the words to cite it by, in brackets.

    Long ones come in pieces: read on with next_offset while has_more is true.

    Args:
        item: Id of the item, as list_items shows it.
        pages: In place of an item: a page or section number, or a range, as "12" or "12-14".
        document: File name of the document; needed where there are several.
        offset: Where to go on, in characters: next_offset of the call before.
    """
    packet = open_packet(context)
    chosen, (one, first, last) = place(packet, item, pages, document)
    text = marked(one, one.content.parts[first - 1 : last], alone=packet.alone)
    offset = max(0, offset)
    if offset >= len(text):
        raise ToolError(f"That has {len(text):,} characters; offset {offset:,} is past its end.")
    end = end_of(text, offset)
    cited = one.cite(first, last, alone=packet.alone, item=chosen)
    reach = f", characters {offset:,} to {end:,} of {len(text):,}" if len(text) > READ else ""
    return Output(f"{cited}{reach}\n\n{text[offset:end]}", paging(end < len(text), end), summary=cited)


def _cited(packet: Packet, match: Match) -> str:
    return match.document.cite(match.first, match.last, alone=packet.alone)


def _where(packet: Packet, hit: Hit) -> str:
    return hit.passage.document.cite(hit.passage.part, alone=packet.alone)


def _shown(packet: Packet, hit: Hit, query: str) -> str:
    item = hit.passage.document.item_at(hit.passage.part)
    title = f" ({item.title})" if item else ""
    return f"{_where(packet, hit)}{title}, score {hit.score:.1f}: {snippet(query, hit.passage.text)}"
