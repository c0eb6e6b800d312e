"""Make the folder that becomes one agent's Lambda package. `sam build` calls this through the agent's Makefile.

    python3.13 infra/build.py functions/analyst <folder to fill> --architecture x86_64

Dependencies are wheels for Lambda's platform, pinned with hashes in the agent's requirements.txt, pruned and compiled to
bytecode once and kept in .aws-sam/dependencies until the pins change. Lambda's /var/task is read-only, so without the
bytecode every cold start would compile thousands of modules. Standard library only: nothing to install before a build.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from py_compile import PycInvalidationMode

from prune import LEFT_OUT, prune, wanted
from weigh import LIMIT, MACHINES, PackageRefused, check_architecture, check_size, megabytes, weigh

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "shared" / "agentfn"
CACHE = ROOT / ".aws-sam" / "dependencies"
PYTHON = "3.13"
"""The runtime in infra/agent.yaml; bytecode is of use to that version alone."""
GLIBC = range(34, 16, -1)
"""The minor versions of glibc whose wheels Amazon Linux 2023 (2.34) can load, newest first."""

NOT_RUN = ("__pycache__", "*.pyc", "tests", "events", "Makefile", "requirements*.txt", ".*")
"""Files of an agent's folder that its function has no use for."""
LOCAL_ONLY = ("__pycache__", "*.pyc", "testing", "cli", "local")
"""Parts of the library for laptops; nothing that is deployed may import them."""


def main() -> None:
    arguments = _arguments()
    if f"{sys.version_info.major}.{sys.version_info.minor}" != PYTHON:
        raise PackageRefused(f"this is Python {sys.version.split()[0]}; Lambda's bytecode needs {PYTHON}")
    if not arguments.source.joinpath("app.py").is_file():
        raise PackageRefused(f"{arguments.source} holds no app.py, so it is no agent")
    tree = dependencies(arguments.source / "requirements.txt", arguments.architecture)
    shutil.copytree(tree, arguments.target, dirs_exist_ok=True)
    copy_code(arguments.source, arguments.target)
    natives = check_architecture(arguments.target, arguments.architecture)
    sizes = weigh(arguments.target)
    check_size(sizes)
    heaviest = ", ".join(f"{name} {megabytes(size)}" for name, size in sizes.most_common(8))
    say(f"holds {heaviest}, and {max(len(sizes) - 8, 0)} smaller")
    say(f"{megabytes(sizes.total())} unzipped of {megabytes(LIMIT)}; {natives} native libraries, all {arguments.architecture}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", type=Path, help="the agent's folder")
    parser.add_argument("target", type=Path, help="the folder to fill")
    parser.add_argument("--architecture", choices=sorted(MACHINES), default="x86_64")
    return parser.parse_args()


def dependencies(requirements: Path, architecture: str) -> Path:
    """The installed, pruned and compiled tree for these pins: from the cache, or made and cached."""
    if not requirements.is_file():
        raise PackageRefused(f"{requirements} is missing: pin the agent's packages as functions/analyst/ does")
    pins = wanted(requirements.read_text())
    recipe = "".join(Path(__file__).with_name(name).read_text() for name in ("build.py", "prune.py"))
    tree = CACHE / hashlib.sha256(f"{architecture}\n{pins}\n{recipe}".encode()).hexdigest()[:16]
    if tree.is_dir():
        say(f"dependencies unchanged, taken from {tree.relative_to(ROOT)}")
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="new-") as scratch:
        made = Path(scratch) / "tree"
        install(pins, made, architecture)
        report(prune(made))
        compile_tree(made)
        made.rename(tree)  # last, so that an interrupted build leaves nothing that looks finished
    return tree


def install(pins: str, target: Path, architecture: str) -> None:
    machine = {"arm64": "aarch64"}.get(architecture, architecture)
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]
    say(f"installing {pins.count('==')} pinned wheels for {architecture}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pins)
        file.flush()
        # --no-deps: the file is the whole closure, and what is left out must stay out.
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--require-hashes", "--no-compile", "--only-binary=:all:", "--no-warn-conflicts"]
        command += ["--implementation", "cp", "--python-version", PYTHON, "--target", str(target)]
        command += [part for platform in platforms for part in ("--platform", platform)]
        finished = subprocess.run([*command, "-r", file.name], check=False)
    if finished.returncode:
        raise PackageRefused(f"pip could not install the pins for {architecture}; its message is above")


def report(saved: dict[str, int]) -> None:
    say(f"left out: {', '.join(LEFT_OUT)}")
    for reason, size in sorted(saved.items(), key=lambda item: -item[1]):
        say(f"cut {megabytes(size):>9}  {reason}")


def compile_tree(folder: Path) -> None:
    """Unchecked hashes, because a zip keeps no exact times and Lambda never changes a source file."""
    mode = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1, invalidation_mode=mode)


def copy_code(source: Path, target: Path) -> None:
    """The library and the agent's own files, compiled like the rest."""
    copies = ((LIBRARY, target / "agentfn", LOCAL_ONLY), (source, target, NOT_RUN))
    for origin, goal, ignored in copies:
        with tempfile.TemporaryDirectory() as scratch:
            fresh = Path(scratch) / "code"
            shutil.copytree(origin, fresh, ignore=shutil.ignore_patterns(*ignored))
            compile_tree(fresh)
            shutil.copytree(fresh, goal, dirs_exist_ok=True)


def say(line: str) -> None:
    sys.stderr.write(f"build: {line}\n")


if __name__ == "__main__":
    try:
        main()
    except PackageRefused as refusal:
        say(f"stopped: {refusal}")
        sys.exit(1)
