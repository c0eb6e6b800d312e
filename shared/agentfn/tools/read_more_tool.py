"""The tool that reads the rest of a truncated output."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from agentfn.errors import ToolError
from agentfn.tools.schemas.function_schema import InputFile
from agentfn.tools.tool import tool
from agentfn.tools.tool_context import Context
from agentfn.tools.tool_output import Output, to_json_text

BINARY_MEDIA_TYPES = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/vnd.")


@tool(idempotent=True)
def read_more(file: InputFile, context: Context, offset: Annotated[int, Field(ge=0)] = 0) -> Output:
    """Reads a text file, or the whole of an output that was cut, page by page.

    Args:
        file: The file's name.
        offset: The character to start at: the next_offset of the page before.
    """
    text = _read_text(file, context)
    if offset > len(text):
        raise ToolError(f"offset {offset:,} is past the end of {file.name}, which has {len(text):,} characters")
    page = _build_page(text, offset, context.max_output_chars)
    end = offset + len(page["text"])
    return Output(data=page, summary=f"characters {offset:,} to {end:,} of {len(text):,}")


def _read_text(file: Path, context: Context) -> str:
    """The text in UTF-8, without a byte order mark; invalid bytes are replaced. Raises ToolError for binary files."""
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        kind = next((info.media_type for info in context.files if info.name == file.name), "of unknown type")
        if b"\0" in content or kind.startswith(BINARY_MEDIA_TYPES):
            raise ToolError(f"{file.name} is a binary file ({kind}), not text; use a tool for its type") from None
        return content.decode("utf-8-sig", "replace")


def _build_page(text: str, offset: int, limit: int) -> dict[str, Any]:
    """A page of at most `limit` characters of JSON, but at least one character, so that reading always advances."""
    size = min(max(1, limit), len(text) - offset)
    while True:
        end = offset + size
        more = end < len(text)
        page = {
            "text": text[offset:end],
            "offset": offset,
            "next_offset": end if more else None,
            "total_chars": len(text),
            "has_more": more,
        }
        length = len(to_json_text(page))
        if length <= limit or size <= 1:
            return page
        size = max(1, size * limit // length)
