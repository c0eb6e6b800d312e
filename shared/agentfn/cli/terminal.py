"""What the command says, and what stops it."""

import sys
import unicodedata
from collections.abc import Callable

from agentfn.errors import AgentfnError

Show = Callable[[str], None]


class Stop(AgentfnError):  # noqa: N818 - it reads as what it does
    """Ends the command with this text and no traceback. `code` is its exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def command() -> str:
    """The command as it was typed, so that what is shown can be copied."""
    typed = sys.argv[0]
    return typed if typed.endswith("agentfn") else "agentfn"


def show(line: str = "") -> None:
    """A line on standard output, at once: whoever reads it through a pipe waits for it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    sys.stderr.write(f"agentfn: {text}\n")


def harmless(text: str) -> str:
    """Text from an agent without what a terminal would act on. Lines and tabs stay."""
    kept = (char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf"))
    return "".join(kept)


def table(rows: list[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Rows in columns; a column of numbers stands to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(_placed(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _placed(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
