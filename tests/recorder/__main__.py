"""`python -m recorder [name …]`: records the named stories anew, or all of them."""

import sys

from recorder.stories import STORIES, path_of, play

for name in sys.argv[1:] or STORIES:
    path_of(name).parent.mkdir(exist_ok=True)
    path_of(name).write_text(play(name), encoding="utf-8")
    sys.stdout.write(f"{path_of(name)}\n")
