"""Make the folders that become one agent's Lambda package. `sam build` calls this through the agent's Makefile.

    python3.13 infra/build.py code functions/analyst <folder to fill>
    python3.13 infra/build.py dependencies functions/analyst <folder to fill> --architecture x86_64

The code is the function's zip, the dependencies are its layer's: a change of the code uploads kilobytes.

Dependencies are wheels for Lambda's platform, pinned with hashes in the agent's requirements.txt. They are pruned,
compiled to bytecode and kept in .aws-sam/dependencies until the pins change: Lambda's /var/task is read-only, so
without the bytecode every cold start would compile thousands of modules anew. What was cut and what is left also goes
to .aws-sam/packages/, because `sam build` shows the output of a failed build only.

Standard library only: nothing is installed before a build.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from py_compile import PycInvalidationMode

from prune import FEATURES, left_out, prune, wanted
from weigh import LIMIT, MACHINES, PackageError, check_architecture, check_size, megabytes, weigh

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "shared" / "agentfn"
CACHE = ROOT / ".aws-sam" / "dependencies"
REPORTS = ROOT / ".aws-sam" / "packages"
PYTHON = "3.13"
"""The runtime in infra/agent.yaml; bytecode is of use to that version alone."""
GLIBC = range(34, 16, -1)
"""Minor versions of glibc whose wheels Amazon Linux 2023 (2.34) can load, newest first."""

NOT_RUN = ("__pycache__", "*.pyc", "tests", "events", "Makefile", "requirements*.txt", ".*")
"""Files of an agent's folder that its function does not need."""
LAPTOP_ONLY = ("__pycache__", "*.pyc", "testing", "cli", "local")
"""Parts of the library that nothing deployed may import."""


def main() -> None:
    arguments = _arguments()
    source, target, architecture = arguments.source.resolve(), arguments.target, arguments.architecture
    if f"{sys.version_info.major}.{sys.version_info.minor}" != PYTHON:
        raise PackageError(f"this is Python {sys.version.split()[0]}; Lambda's bytecode needs {PYTHON}")
    if not source.joinpath("app.py").is_file():
        raise PackageError(f"{source} holds no app.py, so it is no agent")
    if arguments.part == "code":
        copy_code(LIBRARY, target / "agentfn", LAPTOP_ONLY)
        copy_code(source, target, NOT_RUN)
        report(f"{source.name}-code", _contents(weigh(target)))
        return
    tree = dependencies(source / "requirements.txt", architecture, tuple(sorted(arguments.features)))
    shutil.copytree(tree, target / "python", dirs_exist_ok=True)  # the runtime looks there: /opt/python
    natives = check_architecture(target, architecture)
    sizes = weigh(target / "python")
    lines = [_cut(tree).read_text(), *_contents(sizes), f"{natives} native libraries, all {architecture}"]
    report(f"{source.name}-{architecture}", lines)
    check_size(sizes + code_sizes(source))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the folders that become one agent's Lambda package.")
    parser.add_argument("part", choices=("code", "dependencies"))
    parser.add_argument("source", type=Path, help="the agent's folder")
    parser.add_argument("target", type=Path, help="the folder to fill")
    parser.add_argument("--architecture", choices=sorted(MACHINES), default="x86_64")
    parser.add_argument(
        "--with", dest="features", nargs="*", choices=sorted(FEATURES), default=[], help="what it needs"
    )
    return parser.parse_args()


def dependencies(requirements: Path, architecture: str, features: tuple[str, ...] = ()) -> Path:
    """The installed, pruned and compiled tree for these pins: from the cache, or made and cached."""
    if not requirements.is_file():
        raise PackageError(f"{requirements} is missing: pin the agent's packages as functions/analyst/ does")
    text = requirements.read_text()
    pins = wanted(text, features)
    absent = left_out(set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)), features)
    recipe = "".join(Path(__file__).with_name(name).read_text() for name in ("build.py", "prune.py"))
    tree = CACHE / hashlib.sha256(f"{architecture}\n{pins}\n{recipe}".encode()).hexdigest()[:16]
    if tree.is_dir():
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="new-") as scratch:
        made = Path(scratch) / "tree"
        install(pins, made, architecture)
        _cut(tree).write_text(_losses(prune(made), absent))
        compile_tree(made)
        if not tree.exists():  # a build beside this one may have been faster
            made.rename(tree)  # last, so that an interrupted build leaves nothing that looks finished
    return tree


def install(pins: str, target: Path, architecture: str) -> None:
    machine = {"arm64": "aarch64"}.get(architecture, architecture)
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]
    sys.stderr.write(f"build: installing {pins.count('==')} pinned wheels for {architecture}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pins)
        file.flush()
        # --no-deps: the file is the whole closure, and what is left out must stay out.
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--require-hashes", "--no-compile", "--only-binary=:all:", "--no-warn-conflicts"]
        command += ["--implementation", "cp", "--python-version", PYTHON, "--target", str(target)]
        command += [part for platform in platforms for part in ("--platform", platform)]
        finished = subprocess.run([*command, "-r", file.name], check=False)  # noqa: S603 - our own words
    if finished.returncode:
        raise PackageError(f"pip could not install the pins for {architecture}; its message is above")


def compile_tree(folder: Path) -> None:
    """Unchecked hashes, because a zip keeps no exact times and Lambda never changes a source file."""
    mode = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1, invalidation_mode=mode)


def copy_code(source: Path, target: Path, ignored: tuple[str, ...]) -> None:
    """Compiled like the dependencies, but every time: it is small and changes."""
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch) / "code"
        shutil.copytree(source, code, ignore=shutil.ignore_patterns(*ignored))
        compile_tree(code)
        shutil.copytree(code, target, dirs_exist_ok=True)


def code_sizes(source: Path) -> Counter[str]:
    """What the function's own zip adds to the layer: Lambda's limit is for both together."""
    with tempfile.TemporaryDirectory() as scratch:
        copy_code(LIBRARY, Path(scratch) / "agentfn", LAPTOP_ONLY)
        copy_code(source, Path(scratch), NOT_RUN)
        return weigh(Path(scratch))


def _cut(tree: Path) -> Path:
    return tree.with_suffix(".cut.txt")


def _losses(saved: dict[str, int], absent: set[str]) -> str:
    by_size = sorted(saved.items(), key=lambda item: -item[1])
    lines = [f"not installed: {', '.join(sorted(absent))}"]
    return "\n".join(lines + [f"cut  {megabytes(size):>9}  {reason}" for reason, size in by_size])


def _contents(sizes: Counter[str], shown: int = 12) -> list[str]:
    heaviest = sizes.most_common(shown)
    others = sizes.total() - sum(size for _, size in heaviest)
    lines = [f"kept {megabytes(size):>9}  {name}" for name, size in heaviest]
    lines.append(f"kept {megabytes(others):>9}  {max(len(sizes) - shown, 0)} smaller ones")
    return [*lines, f"     {megabytes(sizes.total()):>9}  unzipped; Lambda takes {megabytes(LIMIT)}"]


def report(name: str, lines: list[str]) -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    REPORTS.joinpath(f"{name}.txt").write_text(text)
    sys.stderr.write(text)


if __name__ == "__main__":
    try:
        main()
    except PackageError as refusal:
        sys.exit(f"build: stopped: {refusal}")
