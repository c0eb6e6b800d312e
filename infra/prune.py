"""The parts that are left out of a function's package, and why.

Every entry was proved by `tests/e2e/test_package.py`, which runs the pruned folder. Three kinds: distributions that are
never installed (`LEFT_OUT`, and those of `FEATURES` that an agent does not ask for), files that are deleted after
installing (`CUT`, and litellm's proxy server but for the few modules that its client imports), and litellm's native
library, in whose place comes a module that has none of its functions: litellm then does in Python what the library
would do faster (counting tokens, its own router and proxy), and an agent has its models do the slow part.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

BY_THE_RUNTIME = "comes with the Lambda runtime"
HUB_ONLY = "only downloads from the Hugging Face hub use it"

LEFT_OUT = {
    "boto3": BY_THE_RUNTIME,
    "botocore": BY_THE_RUNTIME,
    "s3transfer": BY_THE_RUNTIME,
    "huggingface-hub": HUB_ONLY,
    "hf-xet": HUB_ONLY,
    "fsspec": HUB_ONLY,
    "httpcore2": HUB_ONLY,
    "truststore": HUB_ONLY,
    "tokenizers": "litellm counts with tiktoken when it is absent",
    "tqdm": "progress bars on a terminal",
    "google-api-core": "only clients of Google's APIs use it; a2a-sdk names it and imports none of it",
    "proto-plus": "only clients of Google's APIs use it; a2a-sdk names it and imports none of it",
}

SIGNATURES = ("cryptography", "cffi", "pycparser")
FEATURES = {
    "signatures": SIGNATURES,
    "mcp": ("httpx2", *SIGNATURES),
    "vertex": ("google-auth", "pyasn1", "pyasn1-modules", *SIGNATURES),
}
IMPLIED = {"pyjwt": "signatures", "mcp": "mcp"}
"""What only some agents need: `signatures` come with pyjwt, for AGENTFN_AUTH=jwt and signed cards, `mcp` with the
package of that name; `vertex` is for models of Google's Vertex AI, whose keys are not texts."""

CUT = (
    ("**/__pycache__", "compiled again for Lambda's Python"),
    ("bin", "command line scripts"),
    ("cffi-gen-src", "sources of a C extension"),
    ("**/*.pyi", "types for checkers"),
    ("*.dist-info/RECORD", "installer's book-keeping"),
    ("*.dist-info/sboms", "bills of materials of native libraries"),
    ("*/tests", "tests of a dependency"),
    ("jsonschema/benchmarks", "tests of a dependency"),
    ("litellm_cli", "litellm's command line"),
    ("litellm/setup_wizard.py", "litellm's command line"),
    ("litellm/litellm_core_utils/tokenizers/deepseek*", "a tokenizer that needs the hub's library"),
    ("litellm/**/*.md", "notes for litellm's developers"),
)

PROXY = "litellm/proxy"
PROXY_KEPT = {
    "_types.py",
    "common_utils/timezone_utils.py",
    "guardrails/exception_utils.py",
    "mcp_server/stdio_gate.py",
    "openai_files_endpoints/common_utils.py",
    "spend_tracking/savings.py",
    "types_utils/utils.py",
}


NATIVE = "litellm/rust_bridge/_native"


def wanted(requirements: str, features: tuple[str, ...] = ()) -> str:
    """The requirements of a compiled file without those left out. Hashes stay with their pins."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", requirements, flags=re.MULTILINE)
    out = left_out({_distribution(block) for block in blocks}, features)
    return "".join(block for block in blocks if _distribution(block) not in out)


def left_out(pinned: set[str], features: tuple[str, ...] = ()) -> set[str]:
    """The distributions that are not installed, for these pins and features."""
    asked = {*features, *(feature for name, feature in IMPLIED.items() if name in pinned)}
    kept = {name for feature in asked for name in FEATURES[feature]}
    optional = {name for names in FEATURES.values() for name in names}
    return (LEFT_OUT.keys() | (optional - kept)) & pinned


def _distribution(block: str) -> str:
    return re.split(r"[=\[ ]", block, maxsplit=1)[0].lower()


def prune(folder: Path) -> dict[str, int]:
    """Delete what a function never runs. Returns the bytes saved for each reason."""
    saved: dict[str, int] = {}
    for pattern, reason in CUT:
        for path in list(folder.glob(pattern)):
            saved[reason] = saved.get(reason, 0) + _delete(path)
    server = sum(_delete(path) for path in list(_server_files(folder / PROXY)))
    others = {"litellm's proxy server": server, "litellm's native library": _without_native(folder)}
    return {**saved, **{reason: size for reason, size in others.items() if size}}


def _without_native(folder: Path) -> int:
    """In the native library's place, a module with the names that modules import from it and nothing behind them."""
    libraries = list(folder.glob(f"{NATIVE}.*.so"))
    if not libraries:
        return 0
    names: set[str] = set()
    for path in folder.joinpath("litellm").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "rust_bridge._native" in text:
            names |= _imported(text, NATIVE.replace("/", "."))
    stub = "".join(f"class {name}(Exception): ...\n" for name in sorted(names))
    folder.joinpath(f"{NATIVE}.py").write_text(stub)
    return sum(_delete(path) for path in libraries)


def _imported(source: str, module: str) -> set[str]:
    """What a source imports from the module."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in nodes if node.module == module for alias in node.names}


def _server_files(proxy: Path) -> Iterator[Path]:
    for path in proxy.rglob("*"):
        relative = path.relative_to(proxy).as_posix()
        if path.is_file() and path.name != "__init__.py" and relative not in PROXY_KEPT:
            yield path


def _delete(path: Path) -> int:
    if path.is_file() or path.is_symlink():
        size = path.lstat().st_size
        path.unlink()
        return size
    size = sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())
    shutil.rmtree(path, ignore_errors=True)
    return size
