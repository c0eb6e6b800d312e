"""Output to the terminal, and the error that ends a command."""

import sys
import unicodedata
from collections.abc import Callable

from agentfn.errors import AgentfnError

PrintLine = Callable[[str], None]


class CliError(AgentfnError):
    """Ends the command with this text and without a traceback."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def command_name() -> str:
    """The command as the user typed it, for commands in the output that they can copy."""
    typed = sys.argv[0]
    return typed if typed.endswith("agentfn") else "agentfn"


def print_line(line: str = "") -> None:
    """Prints a line and flushes it, because the reader of a pipe waits for it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def print_error(text: str) -> None:
    sys.stderr.write(f"agentfn: {text}\n")


def strip_control_chars(text: str) -> str:
    """The text without control and format characters, which could control the terminal. Newlines and tabs stay."""
    kept = (char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf"))
    return "".join(kept)


def format_table(rows: list[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Formats rows in aligned columns; cells that begin with a digit are right-aligned."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(_pad_cell(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _pad_cell(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
