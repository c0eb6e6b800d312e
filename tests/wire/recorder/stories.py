"""All stories by name, and where their recordings are."""

import functools
from collections.abc import Callable
from pathlib import Path

from wire.recorder.dialects import DIALECTS
from wire.recorder.error_stories import ERROR_STORIES, envelopes
from wire.recorder.other_stories import OTHER_STORIES
from wire.recorder.push_stories import PUSH_STORIES
from wire.recorder.recording import Recording
from wire.recorder.task_stories import TASK_STORIES

RECORDINGS = Path(__file__).parents[1] / "recordings"
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
