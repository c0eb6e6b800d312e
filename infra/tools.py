"""Set up the tools that build, deploy and emulate, each in an environment of its own, once.

    python3.13 infra/tools.py sam         .venv-sam: the AWS SAM CLI
    python3.13 infra/tools.py emulator    .venv-emulator: the AWS emulator of the end-to-end tests, and Lambda's runtime

They are not in .venv because their pins and the library's would bind each other. An environment is made again when its
pins change.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = (3, 13)
MARK = "agentfn-pins"

ENVIRONMENTS = {
    "sam": (ROOT / ".venv-sam", ROOT / "infra" / "sam-requirements.txt", None),
    "emulator": (
        ROOT / ".venv-emulator",
        ROOT / "tests" / "e2e" / "requirements.txt",
        ROOT / "tests" / "e2e" / "lambda-runtime.txt",
    ),
}
"""Tool -> its environment, its pins, and the pins of the folder `lambda-runtime` in it."""


def main() -> None:
    wanted = sys.argv[1:]
    if sys.version_info[:2] != PYTHON:
        sys.exit(f"tools: Python {PYTHON[0]}.{PYTHON[1]} is needed, as on Lambda; this is {sys.version.split()[0]}")
    if not wanted or not set(wanted) <= set(ENVIRONMENTS):
        sys.exit(f"tools: name one or more of {', '.join(ENVIRONMENTS)}")
    for name in wanted:
        set_up(*ENVIRONMENTS[name])


def set_up(environment: Path, pins: Path, runtime_pins: Path | None) -> None:
    files = [path for path in (pins, runtime_pins) if path]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    mark = environment / MARK
    if mark.is_file() and mark.read_text() == digest:
        return
    sys.stderr.write(f"tools: making {environment.name} from {', '.join(path.name for path in files)}\n")
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    install = [str(environment / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "-qq"]
    run([*install, "--requirement", str(pins)])
    if runtime_pins:
        target = str(environment / "lambda-runtime")
        run([*install, "--no-deps", "--no-warn-conflicts", "--target", target, "--requirement", str(runtime_pins)])
    mark.write_text(digest)  # last, so that an interrupted set-up is done again


def run(command: list[str]) -> None:
    finished = subprocess.run(command, check=False)  # noqa: S603 - our own words
    if finished.returncode:
        sys.exit(f"tools: failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
