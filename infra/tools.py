"""Install the tools for builds, deployments, emulation and conformance tests, each in a separate environment, once.

    python3.13 infra/tools.py sam         .venv-sam: the AWS SAM CLI
    python3.13 infra/tools.py emulator    .venv-emulator: the AWS emulator of the end-to-end tests, and Lambda's runtime
    python3.13 infra/tools.py testbed     .venv-testbed: the conformance suites, and a client of protocol 1.0
    python3.13 infra/tools.py old-client  .venv-old-client: the last client library of protocol 0.3
    python3.13 infra/tools.py js-client   node_modules of the JavaScript client; needs Node.js and npm

They are not in .venv because their pinned versions conflict with the library's. An environment is created again when
its pins change.
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
    "testbed": (ROOT / ".venv-testbed", ROOT / "tests" / "conformance" / "testbed.txt", None),
    "old-client": (ROOT / ".venv-old-client", ROOT / "tests" / "conformance" / "old.txt", None),
}
"""Tool -> its environment, its pins, and the pins of the environment's folder `lambda-runtime`, if it has one."""

PACKAGES = {"js-client": ROOT / "tests" / "conformance" / "clients" / "js"}
"""Tool -> the folder of its package.json."""


def main() -> None:
    wanted = sys.argv[1:]
    if sys.version_info[:2] != PYTHON:
        sys.exit(f"tools: Python {PYTHON[0]}.{PYTHON[1]} is needed, as on Lambda; this is {sys.version.split()[0]}")
    known = [*ENVIRONMENTS, *PACKAGES]
    if not wanted or not set(wanted) <= set(known):
        sys.exit(f"tools: name one or more of {', '.join(known)}")
    for name in wanted:
        if name in ENVIRONMENTS:
            set_up(*ENVIRONMENTS[name])
        else:
            set_up_package(PACKAGES[name])


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
    mark.write_text(digest)  # last, so that an interrupted installation is repeated


def set_up_package(folder: Path) -> None:
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    mark = folder / "node_modules" / MARK
    if mark.is_file() and mark.read_text() == digest:
        return
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        sys.exit("tools: node and npm are not on the PATH; install Node.js 20 or later, which brings both")
    sys.stderr.write(f"tools: making {folder.relative_to(ROOT)}/node_modules from package-lock.json\n")
    run([npm, "ci", "--silent", "--ignore-scripts", "--engine-strict", "--prefix", str(folder)])
    mark.write_text(digest)


def run(command: list[str]) -> None:
    finished = subprocess.run(command, check=False)  # noqa: S603 - our own words
    if finished.returncode:
        sys.exit(f"tools: failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
