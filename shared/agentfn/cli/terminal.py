"""What the command says, and what stops it."""

import sys
import unicodedata
from collections.abc import Callable

from agentfn.errors import AgentfnError

PrintLine = Callable[[str], None]


class CliError(AgentfnError):
    """Ends the command with this text and no traceback. `code` is its exit code."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def command_name() -> str:
    """The command as it was typed, so that what is shown can be copied."""
    typed = sys.argv[0]
    return typed if typed.endswith("agentfn") else "agentfn"


def print_line(line: str = "") -> None:
    """A line on standard output, at once: whoever reads it through a pipe waits for it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def print_error(text: str) -> None:
    sys.stderr.write(f"agentfn: {text}\n")


def strip_control_chars(text: str) -> str:
    """Text from an agent without what a terminal would act on. Lines and tabs stay."""
    kept = (char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf"))
    return "".join(kept)


def format_table(rows: list[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Rows in columns; a column of numbers stands to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(_pad_cell(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _pad_cell(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
