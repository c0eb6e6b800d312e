"""All stories by name, and where their recordings are."""

import functools
from collections.abc import Callable
from pathlib import Path

from recorder.dialects import DIALECTS
from recorder.error_stories import ERROR_STORIES, envelopes
from recorder.other_stories import OTHER_STORIES
from recorder.push_stories import PUSH_STORIES
from recorder.recording import Recording
from recorder.task_stories import TASK_STORIES

RECORDINGS = Path(__file__).parent / "recordings"
STORIES: dict[str, Callable[[Recording], None]] = {
    **{
        f"{name}-{dialect.name}": functools.partial(story, dialect=dialect)
        for name, story in {**TASK_STORIES, **ERROR_STORIES, **PUSH_STORIES}.items()
        for dialect in DIALECTS
    },
    "envelopes-1.0": functools.partial(envelopes, old=False),
    "envelopes-0.3": functools.partial(envelopes, old=True),
    **OTHER_STORIES,
}


def path_of(name: str) -> Path:
    return RECORDINGS / f"{name}.json"


def play(name: str) -> str:
    """The recording's text, as it would be written now."""
    recording = Recording()
    STORIES[name](recording)
    return recording.text
