"""The lookup tools. Each call opens the packet again, because the calls of a task may run on different machines."""

from agentfn import Context, Output, ToolError, tool
from librarian.chunks import with_citations
from librarian.item_list import format_items
from librarian.limits import DEFAULT_HITS, MATCHES_PER_CALL, MAX_HITS, MAX_SEARCH_TEXT_CHARS, READ_CHARS
from librarian.locations import format_count, join_places, paging, read_end, resolve_range, search_ranges
from librarian.packet import Packet, open_packet
from librarian.ranked_search import Hit, make_snippet, rank_passages, split_passages
from librarian.text_search import Match, find_matches, text_pattern

LOOKUP_TIMEOUT_SECONDS = 300  # the first call of a run reads the whole packet


@tool(idempotent=True, timeout_seconds=LOOKUP_TIMEOUT_SECONDS)
def list_items(context: Context, document: str | None = None) -> Output:
    """Lists the documents of the packet and their items: id, title and pages, and how sure it is that they are items.

    Begin with this. Documents without pages are counted in sections, §.

    Args:
        document: Only this document, by its file name.
    """
    packet = open_packet(context)
    documents = packet.select_documents(document)
    items = sum(len(entry.items) for entry in documents)
    return Output(
        format_items(packet, documents),
        summary=f"{format_count(items, 'item')} in {format_count(len(documents), 'document')}",
    )


@tool(idempotent=True, timeout_seconds=LOOKUP_TIMEOUT_SECONDS)
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
    if not text.strip() or len(text) > MAX_SEARCH_TEXT_CHARS:
        raise ToolError(f"The text to find has 1 to {MAX_SEARCH_TEXT_CHARS} characters.")
    text_regex = text_pattern(text, ignore_case=ignore_case)
    matches = [
        match
        for entry, first, last in search_ranges(packet, document, item)
        for match in find_matches(entry, text_regex, first, last)
    ]
    if not matches:
        return Output(f'"{text}" is nowhere there. Try fewer words, or search.', summary="no match")
    offset = max(0, offset)
    number = format_count(len(matches), "match", "matches")
    lines = [f"- {_match_citation(packet, match)}: {match}" for match in matches[offset : offset + MATCHES_PER_CALL]]
    head = f"{number}: {join_places(_match_citation(packet, match) for match in matches)}."
    return Output(
        "\n".join([head, *lines]),
        paging(len(matches) > offset + MATCHES_PER_CALL, offset + MATCHES_PER_CALL),
        summary=number,
    )


@tool(idempotent=True, timeout_seconds=LOOKUP_TIMEOUT_SECONDS)
def search(query: str, context: Context, document: str | None = None, most: int = DEFAULT_HITS) -> Output:
    """Ranks the passages of the packet by how well they fit a question or keywords, with the page and item of each.

    A snippet is for finding the place: `read` it before you answer from it.

    Args:
        query: A question or keywords.
        document: Only in this document, by its file name.
        most: How many passages to show, at most 15.
    """
    packet = open_packet(context)
    hits = rank_passages(query, split_passages(packet.select_documents(document)))[: min(max(most, 1), MAX_HITS)]
    if not hits:
        return Output("No passage shares a word with that. Try other words.", summary="nothing found")
    lines = [f"{number}. {_format_hit(packet, hit, query)}" for number, hit in enumerate(hits, 1)]
    return Output(
        "\n".join(lines), summary=f"{format_count(len(hits), 'passage')}, best {_hit_citation(packet, hits[0])}"
    )


@tool(idempotent=True, timeout_seconds=LOOKUP_TIMEOUT_SECONDS)
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
    found_item, (source, first, last) = resolve_range(packet, item, pages, document)
    text = with_citations(source, source.content.parts[first - 1 : last], alone=packet.is_single_document)
    offset = max(0, offset)
    if offset >= len(text):
        raise ToolError(f"That has {len(text):,} characters; offset {offset:,} is past its end.")
    end = read_end(text, offset)
    citation = source.cite(first, last, alone=packet.is_single_document, item=found_item)
    reach = f", characters {offset:,} to {end:,} of {len(text):,}" if len(text) > READ_CHARS else ""
    return Output(f"{citation}{reach}\n\n{text[offset:end]}", paging(end < len(text), end), summary=citation)


def _match_citation(packet: Packet, match: Match) -> str:
    return match.document.cite(match.first, match.last, alone=packet.is_single_document)


def _hit_citation(packet: Packet, hit: Hit) -> str:
    return hit.passage.document.cite(hit.passage.part, alone=packet.is_single_document)


def _format_hit(packet: Packet, hit: Hit, query: str) -> str:
    item = hit.passage.document.item_at(hit.passage.part)
    title = f" ({item.title})" if item else ""
    return f"{_hit_citation(packet, hit)}{title}, score {hit.score:.1f}: {make_snippet(query, hit.passage.text)}"
