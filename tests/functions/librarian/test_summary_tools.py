"""Whole packets summed up in inner loops: all of it is read, what failed is named, what paused goes on."""

import re

import pytest

from agentfn import ToolError
from agentfn.tools import TaskSuspended
from functions.librarian.tool_harness import NestedResult, ToolHarness
from librarian.limits import MAX_PARALLEL_LOOPS
from librarian.summaries import DIGESTS_HEADER, MAP_INSTRUCTIONS, PART_HEADER, REDUCE_INSTRUCTIONS
from librarian.summary_tools import report, summarise

FAILED = NestedResult("the model refused", "failed")


def told(name: str, message: str) -> NestedResult:
    """A digest that names its part, and of digests their number."""
    cited = re.search(r"^\[(.+?)\]$", message, re.MULTILINE)
    assert cited
    if DIGESTS_HEADER in message:
        return NestedResult(f"Together: {len(re.findall(r'^Digest of', message, re.MULTILINE))} digests.")
    return NestedResult(f"Digest of {cited[1]}.")


def names(desk: ToolHarness) -> list[str]:
    return [name for name, _, _ in desk.nested_calls]


def test_every_page_of_the_packet_is_in_one_part_and_the_digests_are_put_together(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = told
    said = packet_desk.output(summarise, focus="What costs money?")
    parts = [message for name, message, _ in packet_desk.nested_calls if name.startswith("part-")]
    read = re.findall(r"^\[(.+?)\]$", "\n".join(parts), re.MULTILINE)
    assert len(read) == len(set(read)) == 38
    assert {"packet.pdf, Item 5.2, p. 14", 'notice.html, "Papers", § 3'} <= set(read)
    assert said.text == f"Together: {len(parts)} digests."
    assert said.summary == f"{len(parts)} parts summed up"
    assert all(message.startswith("What the reader wants to know: What costs money?\n\n") for message in parts)
    assert {instructions for _, _, instructions in packet_desk.nested_calls} == {MAP_INSTRUCTIONS, REDUCE_INSTRUCTIONS}
    assert packet_desk.max_parallel == MAX_PARALLEL_LOOPS
    assert packet_desk.progress[-1].startswith(f"{len(parts)} of {len(parts)} parts read: ")


def test_no_part_crosses_the_border_of_two_items(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = told
    packet_desk.call(summarise)
    for _, message, _ in packet_desk.nested_calls[:-1]:
        tops = {re.search(r"Item \d+|$", cited)[0] for cited in re.findall(r"^\[(.+?)\]$", message, re.MULTILINE)}  # type: ignore[index]
        assert len(tops) == 1


def test_one_item_is_summed_up_alone(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = told
    assert packet_desk.call(summarise, item="7") == "Digest of packet.pdf, Item 7, p. 23."
    assert names(packet_desk) == ["part-1"]


def test_a_part_that_fails_is_named_and_stops_no_other(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = lambda name, message: FAILED if name == "part-3" else told(name, message)
    said = packet_desk.output(summarise)
    assert (
        "Not covered:\n- packet.pdf, Item 2, pp. 3\u20135 (Minutes of 12 October 2026): the model refused" in said.text
    )
    assert said.summary.endswith("summed up, 1 failed")


def test_where_the_digests_cannot_be_put_together_they_stand_one_after_the_other(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = lambda name, message: told(name, message) if name.startswith("part-") else FAILED
    said = packet_desk.call(summarise)
    assert said.count("Digest of ") == len(names(packet_desk)) - 1


def test_where_every_part_fails_the_tool_fails(packet_desk: ToolHarness) -> None:
    packet_desk.nested_answer = lambda name, message: FAILED
    with pytest.raises(ToolError, match=r"No part could be summed up\. The first one: the model refused"):
        packet_desk.call(summarise)


def test_very_many_digests_are_put_together_in_rounds(desk: ToolHarness) -> None:
    desk.attach("law.md", "\n".join(f"# {number}. Rule\n\nText.\n" for number in range(1, 61)))
    desk.nested_answer = lambda name, message: NestedResult("So it is. " * 400)
    desk.call(summarise)
    later = [name for name in names(desk) if name.startswith("together-")]
    assert "together-1-2" in later
    assert later[-1] == "together-2-1"


def test_a_pause_goes_through_and_the_call_is_the_same_when_it_is_made_again(packet_desk: ToolHarness) -> None:
    def pausing(name: str, message: str) -> NestedResult:
        if name == "part-5":
            raise TaskSuspended
        return told(name, message)

    packet_desk.nested_answer = pausing
    with pytest.raises(BaseExceptionGroup) as paused:
        packet_desk.call(summarise)
    assert paused.value.subgroup(TaskSuspended) is not None
    first = {name: message for name, message, _ in packet_desk.nested_calls}
    packet_desk.nested_calls.clear()
    packet_desk.nested_answer = told
    assert packet_desk.call(summarise).startswith("Together: ")
    again = {name: message for name, message, _ in packet_desk.nested_calls}
    assert first.items() <= again.items()


def test_the_report_is_a_file_with_the_summary_every_part_and_what_is_missing(packet_desk: ToolHarness) -> None:
    packet_desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    packet_desk.nested_answer = lambda name, message: FAILED if name == "part-4" else told(name, message)
    said = packet_desk.output(report, title="The packet of *November*", focus="Costs?")
    assert [(file.name, file.content_type) for file in said.files] == [("report.md", "text/markdown")]
    written = packet_desk.read("report.md")
    assert written.startswith("# The packet of \\*November\\*\n\n> Costs?\n\n## Summary\n\nTogether: ")
    assert (
        "\n### Budget for fiscal year 2027 (packet.pdf, Item 5, pp. 10\u201316)\n\nDigest of packet.pdf, Item 5"
        in written
    )
    missing = written.partition("## What is not covered")[2]
    assert "- packet.pdf, Item 3, pp. 6\u20138 (Register of claims): the model refused" in missing
    assert "- photo.png cannot be read: it is a picture" in missing
    assert "from packet.pdf, library-memo.docx, notice.html." in written
    assert said.text.startswith("report.md is written: ")


def test_a_packet_that_is_far_too_long_is_refused_with_a_way_out(desk: ToolHarness) -> None:
    desk.attach("long.txt", "A sentence that stands here. " * 90_000)
    with pytest.raises(ToolError, match="Name an item or a document"):
        desk.call(summarise)


def test_a_page_longer_than_a_part_is_cut_and_nothing_of_it_is_lost(desk: ToolHarness) -> None:
    desk.attach("long.md", "# One\n\n" + " ".join(f"w{number}" for number in range(12_000)) + "\n\n# Two\n\nEnd.\n")
    desk.nested_answer = told
    desk.call(summarise)
    read = "".join(message.partition(f"{PART_HEADER}\n\n")[2] for _, message, _ in desk.nested_calls)
    assert sum(f"w{number}" in read for number in range(0, 12_000, 500)) == 24
    assert len([name for name in names(desk) if name.startswith("part-")]) == 5
