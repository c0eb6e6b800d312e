"""Checks a package: its size against Lambda's limit, and the architecture of its native libraries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

LIMIT = 250 * 1024 * 1024
"""Bytes a function's code may take unzipped. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""

MACHINES = {"x86_64": 0x3E, "arm64": 0xB7}
"""`e_machine` in the header of an ELF file, for each of Lambda's architectures."""


class PackageError(Exception):
    """The package cannot run on Lambda; the message names the reason and the remedy."""


def weigh(folder: Path) -> Counter[str]:
    """Bytes by top-level name; a distribution's metadata counts as `(metadata)`."""
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            top = path.relative_to(folder).parts[0]
            sizes["(metadata)" if top.endswith(".dist-info") else top] += path.stat().st_size
    return sizes


def check_size(sizes: Counter[str]) -> None:
    total = sizes.total()
    if total > LIMIT:
        heaviest = ", ".join(f"{name} {megabytes(size)}" for name, size in sizes.most_common(5))
        raise PackageError(
            f"the package is {megabytes(total)} unzipped and Lambda takes {megabytes(LIMIT)}; heaviest: {heaviest}. "
            "Drop a requirement of the agent, or add what it never runs to infra/prune.py"
        )


def check_architecture(folder: Path, architecture: str) -> int:
    """Returns the number of native libraries seen."""
    libraries = [path for path in folder.rglob("*") if path.is_file() and _machine(path) is not None]
    wrong = [path for path in libraries if _machine(path) != MACHINES[architecture]]
    if wrong:
        names = ", ".join(str(path.relative_to(folder)) for path in wrong[:5])
        raise PackageError(
            f"{len(wrong)} native libraries are not for {architecture}: {names}. "
            "Requirements must have a wheel for it; remove .aws-sam and build again"
        )
    return len(libraries)


def _machine(path: Path) -> int | None:
    with path.open("rb") as file:
        header = file.read(20)
    if len(header) < 20 or header[:4] != b"\x7fELF":
        return None
    return int.from_bytes(header[18:20], "little")


def megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB"
