"""What goes wrong in the handler, in the words in which Lambda wants to be told of it."""

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUNTIME_FOLDER = str(Path(__file__).parent)
MAX_XRAY_CAUSE_CHARS = 64 * 1024  # characters of a header


class Fault(Exception):  # noqa: N818 - Lambda's word for it
    """`kind` is an error's type: its class, or one of Lambda's own that begin with `Runtime.` or `Function.`"""

    def __init__(self, kind: str, message: str, frames: list[traceback.FrameSummary] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.frames = frames or []

    @classmethod
    def from_exception(cls, error: BaseException, kind: str = "", message: str = "") -> "Fault":
        """As Lambda's own client tells it: the stack from the handler on."""
        frames = traceback.extract_tb(error.__traceback__)
        while frames and frames[0].filename.startswith(RUNTIME_FOLDER):
            frames.pop(0)
        return cls(kind or type(error).__name__, message or str(error), list(frames))

    def to_json(self, request_id: str = "") -> bytes:
        body = {
            "errorMessage": str(self),
            "errorType": self.kind,
            "requestId": request_id,
            "stackTrace": traceback.format_list(self.frames),
        }
        return json.dumps(body).encode()

    def xray_cause(self) -> str:
        """For X-Ray, in one line; empty where it would be too long for a header."""
        stack = [{"label": frame.name, "path": frame.filename, "line": frame.lineno} for frame in self.frames]
        cause = {
            "working_directory": str(Path.cwd()),
            "exceptions": [{"message": str(self), "type": self.kind, "stack": stack}],
            "paths": sorted({frame.filename for frame in self.frames}),
        }
        text = json.dumps(cause)
        return text if len(text) <= MAX_XRAY_CAUSE_CHARS else ""


@contextmanager
def map_to_fault(kind: str = "", prefix: str = "") -> Iterator[None]:
    """Inside, whatever is raised becomes a Fault; one that is already stays as it is."""
    try:
        yield
    except Fault:
        raise
    except Exception as error:
        raise Fault.from_exception(error, kind, f"{prefix}{error}") from error
