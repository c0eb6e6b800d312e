"""One call of one tool: whatever the tool does, something comes back."""

import asyncio
import dataclasses
import datetime
import enum
import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agentfn import Context, File, InputFile, ToolError, tool
from agentfn.tools import FolderWorkspace
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.tool_arguments import ToolCallError


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Address(BaseModel):
    street: str


def test_a_tool_gets_what_its_hints_say(call: Any) -> None:
    seen: dict[str, Any] = {}

    @tool
    def take(
        when: datetime.date, colour: Colour, point: Point, address: Address, points: list[Point], maybe: int | None = 5
    ) -> None:
        """Takes."""
        seen.update(when=when, colour=colour, point=point, address=address, points=points, maybe=maybe)

    given = {
        "when": "2026-03-09",
        "colour": "red",
        "point": {"x": 1},
        "address": {"street": "s"},
        "points": [{"x": 2}],
    }
    assert call(take, json.dumps(given)).text == ""
    assert seen == {
        "when": datetime.date(2026, 3, 9),
        "colour": Colour.RED,
        "point": Point(1),
        "address": Address(street="s"),
        "points": [Point(2)],
        "maybe": 5,
    }


def test_what_fits_the_schema_and_not_the_type_is_an_error_with_its_path(call: Any) -> None:
    @tool
    def plan(days: list[datetime.date]) -> str:
        """Plans."""
        raise AssertionError("not to be called")

    mistake = call(plan, '{"days": ["2026-03-09", "2026-02-30"]}')
    assert (mistake.error_type, mistake.path) == ("invalid_arguments", "$.days[1]")
    assert "pydantic" not in mistake.render()


def test_a_default_that_can_change_is_new_in_every_call(call: Any) -> None:
    @tool
    def collect(into: list[int] = []) -> int:  # noqa: B006 - that is the point
        """Collects."""
        into.append(1)
        return len(into)

    assert [call(collect).text for _ in range(3)] == ["1", "1", "1"]


@pytest.mark.parametrize("value", ["fine", None, {"a": 1}])
def test_sync_and_async_tools_are_called_alike(call: Any, value: Any) -> None:
    @tool
    def sync(context: Context) -> Any:
        """Gives."""
        assert threading.current_thread() is not threading.main_thread()
        return value

    @tool
    async def later(context: Context) -> Any:
        """Gives."""
        await asyncio.sleep(0)
        return value

    assert call(sync) == call(later)


RAISED: list[tuple[BaseException, str, str]] = [
    (ToolError("try Rome"), "tool_error", "try Rome"),
    (ValueError("bad"), "tool_failed", "strike failed: ValueError: bad"),
    (TimeoutError("slow"), "tool_failed", "strike failed: TimeoutError: slow"),
    (StopIteration(3), "tool_failed", "StopIteration"),
    (StopAsyncIteration(), "tool_failed", "StopAsyncIteration"),
    (SystemExit(1), "tool_failed", "strike failed: RuntimeError: it raised SystemExit"),
    (KeyboardInterrupt(), "tool_failed", "strike failed: RuntimeError: it raised KeyboardInterrupt"),
    (RecursionError(), "tool_failed", "RecursionError"),
    (MemoryError(), "tool_failed", "MemoryError"),
    (BaseExceptionGroup("two", [SystemExit(1)]), "tool_failed", "BaseExceptionGroup"),
]


@pytest.mark.parametrize(("error", "kind", "text"), RAISED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_whatever_a_tool_raises_is_told_to_the_model_and_ends_nothing_else(
    call: Any, error: BaseException, kind: str, text: str, asynchronous: bool
) -> None:
    @tool(name="strike")
    def sync() -> str:
        """Raises."""
        raise error

    @tool(name="strike")
    async def later() -> str:
        """Raises."""
        raise error

    mistake = call(later if asynchronous else sync)
    assert isinstance(mistake, ToolCallError)
    assert mistake.error_type == kind
    assert text in mistake.message


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit()])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_cancels_itself_is_a_mistake_too(call: Any, error: BaseException, asynchronous: bool) -> None:
    @tool(name="give_up")
    def sync() -> str:
        """Raises."""
        raise error

    @tool(name="give_up")
    async def later() -> str:
        """Raises."""
        raise error

    assert call(later if asynchronous else sync).error_type in ("cancelled", "tool_failed")


def test_a_long_error_is_cut(call: Any) -> None:
    @tool
    def rant() -> str:
        """Raises."""
        raise ValueError("x" * 10**6)

    assert len(call(rant).render()) < 5_000


def test_files_are_asked_for_by_name_and_come_as_paths(call: Any, workspace: FolderWorkspace) -> None:
    for name in ("a.txt", "b.txt"):
        workspace.attach(File(name, name.encode()))

    @tool
    def read(one: InputFile, more: list[InputFile] | None = None, none: InputFile | None = None) -> str:
        """Reads."""
        assert none is None
        return " ".join(path.read_text() for path in [one, *(more or [])])

    assert call(read, '{"one": "a.txt", "more": ["b.txt", "a.txt"], "none": null}').text == "a.txt b.txt a.txt"
    assert call(read, '{"one": "/tmp/a.txt", "more": []}').text == "a.txt"
    for unknown in ('{"one": "a.txt", "more": ["c.txt"]}', '{"one": "c.txt"}'):
        mistake = call(read, unknown)
        assert (mistake.error_type, mistake.message) == (
            "tool_error",
            "there is no file 'c.txt'; there are: a.txt, b.txt",
        )
    assert call(read, '{"one": "a.txt", "more": "b.txt"}').path == "$.more"
    assert call(read, '{"one": null}').path == "$.one"


type Page = InputFile
type Tree = dict[str, Tree] | int


def test_files_are_found_inside_of_what_holds_them(call: Any, workspace: FolderWorkspace) -> None:
    workspace.attach(File("a.txt", b"hello"))

    @tool
    def read(named: dict[str, InputFile], rows: list[list[InputFile | None]], page: Page, tree: Tree = 1) -> str:
        """Reads."""
        return named["x"].read_text() + str([[file and file.name for file in row] for row in rows]) + page.read_text()

    assert read.file_parameters == {"named", "rows", "page"}
    given = {"named": {"x": "a.txt"}, "rows": [["a.txt", None], []], "page": "dir/a.txt", "tree": {"a": {"b": 2}}}
    assert call(read, json.dumps(given)).text == "hello[['a.txt', None], []]hello"


def test_a_raw_schema_says_by_name_which_parameters_are_files(call: Any, workspace: FolderWorkspace) -> None:
    workspace.attach(File("a.txt", b"hello"))
    schema = {"type": "object", "properties": {"file": {"type": "string"}, "word": {"type": "string"}}}

    @tool(schema=schema, files=["file"])
    async def read(file: Path, word: str) -> str:
        """Reads."""
        return f"{file.read_text()} {word}"

    assert call(read, '{"file": "a.txt", "word": "a.txt"}').text == "hello a.txt"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_the_program_hands_its_tools_is_in_the_state(context: Context, asynchronous: bool) -> None:
    @tool(name="greet")
    def sync(context: Context) -> str:
        """Greets."""
        return f"Hi {context.state['user']}, {len(context.state)}, {context.max_output_chars}"

    @tool(name="greet")
    async def later(word: str = "", context: Context | None = None) -> str:
        """Greets."""
        assert context is not None
        return str(sync(context))

    made = later if asynchronous else sync
    assert "context" not in json.dumps(made.schema)
    told = dataclasses.replace(context, state={"user": "Ann"})
    outcome = asyncio.run(call_tool(made, "{}", told, ToolLimits(max_output_chars=500), ConcurrencyLimiter(1)))
    assert outcome.render() == "Hi Ann, 1, 500"


@pytest.mark.parametrize("number", ["1" * 400, "-" + "9" * 4000, "1e999", "-1e400"])
@pytest.mark.parametrize("hint", [int, float, Decimal, Annotated[float, Field(multiple_of=0.1)]])
def test_a_number_beyond_all_bounds_is_a_value_or_a_mistake(call: Any, hint: Any, number: str) -> None:
    def take(number: float) -> str:
        """Takes."""
        return "taken"

    take.__annotations__["number"] = hint
    outcome = call(tool(take), f'{{"number": {number}}}')
    assert isinstance(outcome, ToolCallError) or outcome.text == "taken"
