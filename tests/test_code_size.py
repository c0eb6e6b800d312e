"""What the code looks like, as far as a machine can tell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentfn

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "shared").rglob("*.py"), *(ROOT / "functions").rglob("*.py")])
PUBLIC_TO_AGENTS = {"agentfn", "agentfn.models", "agentfn.testing"}
MAX_MODULE_LINES = 250
MAX_FUNCTION_LINES = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    docstring = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


def test_the_public_names_are_these() -> None:
    assert agentfn.__all__ == [
        "Agent",
        "AgentfnError",
        "ConfigurationError",
        "Context",
        "Deadline",
        "File",
        "FileInfo",
        "InputFile",
        "Output",
        "Settings",
        "Skill",
        "ToolError",
        "Toolkit",
        "serve",
        "tool",
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_small_and_explain_themselves(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert text.count("\n") <= MAX_MODULE_LINES
    assert [f"{f.name}: {length(f)}" for f in functions(tree) if length(f) > MAX_FUNCTION_LINES] == []
    assert not text.strip() or ast.get_docstring(tree), "a module says in its docstring what it is"


def test_what_breaks_is_caught_broadly_in_one_place() -> None:
    """In the runner. A thread hands on what its function raised, and a
    toolkit's summary is anyone's function, for a call that went well.
    """
    broad = [
        f"{path.name}:{node.type.id}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Name)
        and node.type.id in ("Exception", "BaseException")
        and not isinstance(node.body[-1], ast.Raise)
    ]
    assert broad == ["runner.py:Exception", "threads.py:BaseException", "toolkit.py:Exception"]


def test_agents_import_public_names_only_and_never_each_other() -> None:
    for path in (ROOT / "functions").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("agentfn"):
                assert node.module in PUBLIC_TO_AGENTS, f"{path}:{node.lineno}"


def test_no_module_starts_an_event_loop_of_its_own() -> None:
    """`asyncio.run` closes the loop that the next HTTP event of a warm process needs."""
    starting = [path.name for path in SOURCES if "asyncio.run(" in path.read_text()]
    assert starting == ["agent_loop.py"]  # `AgentLoop.run_sync`, for scripts
