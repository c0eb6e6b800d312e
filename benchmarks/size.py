"""What the packages weigh: each agent's for both processors, one with the direct door alone, and the peers'.

    python benchmarks/size.py

An agent's package is what `make build` uploads: its code, and the layer of its dependencies, pruned and compiled by
infra/build.py. A peer's is its environment of `cold.py`, compiled as pip does and not pruned. Neither has pip or boto3,
which Lambda's runtime brings. Zipped is as `zip` would have it, at its usual level. See docs/performance.md.
"""

import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from cold_contenders import CONTENDERS, ENVIRONMENTS, OURS, PEERS, ROOT, named, python_of

sys.path.insert(0, str(ROOT / "infra"))

from build import LAPTOP_ONLY, LIBRARY, NOT_RUN, copy_code, dependencies
from weigh import weigh

ARCHITECTURES = ("x86_64", "arm64")
RUNTIME = ("boto3", "botocore", "s3transfer", "pip")
MB = 1024 * 1024
SHOWN = 10


def zipped(folders: Iterable[Path], left_out: Iterable[str] = ()) -> int:
    """Bytes of the archive of all that is in the folders, but for what begins so."""
    out = tuple(left_out)
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for folder in folders:
                for path in sorted(folder.rglob("*")):
                    inside = path.relative_to(folder)
                    if path.is_file() and not (out and inside.parts[0].startswith(out)):
                        archive.write(path, inside)
        return file.tell()


def package(agent: Path, requirements: Path, architecture: str) -> tuple[Counter[str], int, str]:
    """Its sizes by name, its zipped bytes, and what was cut."""
    tree = dependencies(requirements, architecture)
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch) / "code"
        copy_code(LIBRARY, code / "agentfn", LAPTOP_ONLY)
        copy_code(agent, code, NOT_RUN)
        return weigh(tree) + weigh(code), zipped([tree, code]), tree.with_suffix(".cut.txt").read_text()


def direct_pins(folder: Path) -> Path:
    """The deployed pins and hashes of what an agent needs that asks its model through the direct door."""
    names = {line.partition("==")[0] for line in (PEERS / "agentfn_direct.txt").read_text().splitlines()}
    blocks = re.split(r"^(?=[A-Za-z0-9])", OURS.read_text(), flags=re.MULTILINE)
    path = folder / "requirements.txt"
    path.write_text("".join(block for block in blocks if re.split(r"[=\[ ]", block, maxsplit=1)[0] in names))
    return path


def peer(place: str) -> tuple[Counter[str], int]:
    python_of(place)
    [site] = (ENVIRONMENTS / f"cold-{place}" / "lib").glob("python*/site-packages")
    sizes = weigh(site)
    for name in RUNTIME:
        sizes.pop(name, None)
    return sizes, zipped([site], RUNTIME)


def row(name: str, sizes: Counter[str], compressed: int) -> None:
    largest = ", ".join(f"{name} {size / MB:.1f}" for name, size in sizes.most_common(SHOWN))
    print(f"| {name} | {sizes.total() / MB:.1f} | {compressed / MB:.1f} | {largest} |", flush=True)


def main() -> None:
    agents = sorted(path.parent for path in (ROOT / "functions").glob("*/app.py"))
    cut = ""
    print(f"| Package | Unzipped, MB | Zipped, MB | Its {SHOWN} largest, MB |\n|---|---|---|---|")
    for architecture in ARCHITECTURES:
        for agent in agents:
            sizes, compressed, cut = package(agent, agent / "requirements.txt", architecture)
            row(f"{agent.name}, {architecture}", sizes, compressed)
        with tempfile.TemporaryDirectory() as scratch:
            sizes, compressed, _ = package(ROOT / "tests/e2e/agents/steps", direct_pins(Path(scratch)), architecture)
            row(f"an agent with the direct door alone, {architecture}", sizes, compressed)
    for contender in CONTENDERS:
        if not contender.place.startswith("agentfn"):
            row(named(contender), *peer(contender.place))
    print(f"\nCut from {agents[-1].name}:\n{cut}")


if __name__ == "__main__":
    main()
