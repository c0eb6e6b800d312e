"""The structure of the code: sizes, docstrings, unique names, broad excepts and the imports of agents."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentfn

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "shared").rglob("*.py"), *(ROOT / "functions").rglob("*.py")])
PUBLIC_TO_AGENTS = {"agentfn", "agentfn.models", "agentfn.testing"}
MAX_MODULE_LINES = 250
MAX_FUNCTION_LINES = 40
MAX_MODULES_IN_FOLDER = 15
MAX_FAN_OUT = 15  # modules of the library that one module imports
MAX_P90_FUNCTION_LINES = 15
SUPERLATIVE = re.compile(
    r"_?(LARGEST|MOST|LONGEST|LEAST|DEEPEST|SMALLEST|SHORTEST|HIGHEST|LOWEST|FIRST|LAST|YOUNG|SOON|LATER|REST|GRACE|SLACK)"
    r"(_|$)"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    docstring = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "shared").with_suffix("").parts).removesuffix(".__init__")


def imported_modules(path: Path, library: set[str]) -> set[str]:
    """The modules of the library that a module imports, for types and inside functions too."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agentfn"):
            full_names = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= {name if name in library else str(node.module) for name in full_names}
    return imported


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


def test_no_folder_has_many_modules() -> None:
    modules = [path for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")] if path.name != "__init__.py"]
    counts = Counter(path.parent.relative_to(ROOT) for path in modules)
    assert {str(folder): count for folder, count in counts.items() if count > MAX_MODULES_IN_FOLDER} == {}


def test_modules_of_the_library_have_unique_names_and_none_is_named_like_a_package() -> None:
    library = [path for path in SOURCES if "shared" in path.parts and not path.name.startswith("__")]
    names = Counter(path.stem for path in library)
    assert [name for name, count in names.items() if count > 1] == []
    packages = {path.parent.name for path in library}
    assert names.keys() & packages == set()


def test_no_module_of_the_library_imports_too_many_others() -> None:
    library = {module_name(path): path for path in SOURCES if "shared" in path.parts}
    fan_out = {name: len(imported_modules(path, set(library)) - {name}) for name, path in library.items()}
    assert {name: count for name, count in fan_out.items() if count > MAX_FAN_OUT} == {}


def test_public_classes_of_the_library_have_unique_names() -> None:
    names = Counter(
        node.name
        for path in SOURCES
        if "shared" in path.parts
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_constants_say_what_they_limit() -> None:
    """`MAX_BODY_BYTES`, not `LARGEST`."""
    targets = (
        target
        for path in SOURCES
        for node in ast.parse(path.read_text()).body
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
    )
    assert [target.id for target in targets if isinstance(target, ast.Name) and SUPERLATIVE.match(target.id)] == []


def test_nine_functions_of_ten_are_short() -> None:
    lengths = sorted(length(function) for path in SOURCES for function in functions(ast.parse(path.read_text())))
    assert lengths[len(lengths) * 9 // 10] <= MAX_P90_FUNCTION_LINES


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
