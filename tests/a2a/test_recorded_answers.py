"""What the agent answers, stores and sends is byte for byte what was recorded; see tests/recorder."""

import difflib

import pytest

from recorder.stories import RECORDINGS, STORIES, path_of, play


@pytest.mark.parametrize("name", STORIES)
def test_answers_items_and_messages_are_as_they_were_recorded(name: str) -> None:
    recorded, played = path_of(name).read_text(encoding="utf-8"), play(name)
    if played != recorded:
        lines = difflib.unified_diff(
            recorded.splitlines(), played.splitlines(), f"recordings/{name}.json", "now", n=1, lineterm=""
        )
        pytest.fail("\n".join([*list(lines)[:200], f"record anew: python -m recorder {name}"]), pytrace=False)


def test_there_is_a_recording_for_each_story_and_for_nothing_else() -> None:
    assert {path.stem for path in RECORDINGS.iterdir()} == set(STORIES)
