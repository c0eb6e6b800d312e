"""infra/build.py and its parts, without a network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.templates import ROOT

AGENTS = ("analyst", "librarian")
PINNED = {agent: (ROOT / "functions" / agent / "requirements.txt").read_text() for agent in AGENTS}
PINS = PINNED["analyst"]


def load(name: str) -> Any:
    """A module of the folder infra/, which is no package: its scripts run before anything is installed."""
    spec = importlib.util.spec_from_file_location(f"infra_{name}", ROOT / "infra" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prune, weigh = load("prune"), load("weigh")


def build(source: Path, target: Path) -> str:
    command = [sys.executable, str(ROOT / "infra" / "build.py"), "dependencies", str(source), str(target)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    return finished.stderr


def native(machine: int) -> bytes:
    return b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little") + bytes(44)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_pin_is_exact_has_hashes_and_names_no_index(agent: str) -> None:
    pins = re.findall(r"^[a-z0-9].*$", PINNED[agent], re.MULTILINE)
    assert all(re.fullmatch(r"[a-z0-9.-]+==\S+ \\", pin) for pin in pins)
    assert len(re.findall(r"==\S+ \\\n    --hash=sha256:", PINNED[agent])) == len(pins)
    assert not re.search(r"^-|://", PINNED[agent], re.MULTILINE)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_pins_cover_all_that_an_agent_needs(agent: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["litellm"], *extras[agent]]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in needed}
    assert names <= set(re.findall(r"^([a-z0-9.-]+)==", PINNED[agent], re.MULTILINE))


def test_what_is_left_out_takes_its_hashes_along() -> None:
    pins = "# made\nboto3==1 \\\n    --hash=sha256:aa\n    # via x\nclick==2 \\\n    --hash=sha256:bb\n"
    assert prune.wanted(pins) == "# made\nclick==2 \\\n    --hash=sha256:bb\n"


def test_boto3_comes_from_the_runtime() -> None:
    assert not re.search(r"^(boto3|botocore|s3transfer)==", prune.wanted(PINS), re.MULTILINE)
    assert re.search(r"^litellm==", prune.wanted(PINS), re.MULTILINE)


def test_what_only_some_agents_need_is_left_out_unless_they_ask() -> None:
    assert not re.search(r"^(cryptography|google-auth)==", prune.wanted(PINS), re.MULTILINE)
    assert re.search(r"^google-auth==", prune.wanted(PINS, ("vertex",)), re.MULTILINE)
    signing = "cryptography==1 \\\n    --hash=sha256:aa\npyjwt==2 \\\n    --hash=sha256:bb\n"
    assert prune.wanted(signing) == signing


def test_in_the_place_of_litellms_native_library_comes_a_module_of_bare_names(tmp_path: Path) -> None:
    bridge = tmp_path / "litellm" / "rust_bridge"
    bridge.mkdir(parents=True)
    library = bridge / "_native.abi3.so"
    library.write_bytes(native(0x3E))
    tmp_path.joinpath("litellm", "redis.py").write_text("from litellm.rust_bridge._native import Send, Applied\n")
    assert prune.prune(tmp_path) == {"litellm's native library": 64}
    assert not library.exists()
    names: dict[str, Any] = {}
    exec(bridge.joinpath("_native.py").read_text(), names)
    assert {"Send", "Applied"} < names.keys()


def test_pruning_keeps_what_litellms_client_imports_of_its_server(tmp_path: Path) -> None:
    for name in (
        "litellm/proxy/_types.py",
        "litellm/proxy/proxy_server.py",
        "litellm/proxy/auth/__init__.py",
        "bin/run",
    ):
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text("pass")
    saved = prune.prune(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"litellm/proxy/_types.py", "litellm/proxy/auth/__init__.py"}
    assert saved == {"command line scripts": 4, "litellm's proxy server": 4}


def test_a_package_over_the_limit_is_refused_by_name() -> None:
    sizes = Counter({"torch": 800 * 1024 * 1024, "agentfn": 1024})
    with pytest.raises(weigh.PackageError, match=r"800\.0 MB unzipped.*250\.0 MB.*torch 800"):
        weigh.check_size(sizes)


def test_a_package_is_weighed_whole(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_bytes(bytes(10))
    (tmp_path / "x-1.dist-info").mkdir()
    (tmp_path / "x-1.dist-info" / "METADATA").write_bytes(bytes(5))
    assert weigh.weigh(tmp_path) == {"a": 10, "(metadata)": 5}


def test_a_library_for_another_processor_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "fast.so").write_bytes(native(weigh.MACHINES["arm64"]))
    (tmp_path / "plain.py").write_text("pass")
    assert weigh.check_architecture(tmp_path, "arm64") == 1
    with pytest.raises(weigh.PackageError, match=r"not for x86_64: fast\.so"):
        weigh.check_architecture(tmp_path, "x86_64")


@pytest.mark.skipif(sys.version_info[:2] != (3, 13), reason="only Lambda's Python builds")
@pytest.mark.parametrize(
    ("files", "complaint"), [((), "holds no app.py"), (("app.py",), "requirements.txt is missing")]
)
def test_a_folder_that_is_no_agent_is_refused(tmp_path: Path, files: tuple[str, ...], complaint: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert complaint in build(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
