"""Errors of the handler, in the format of Lambda's Runtime API."""

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUNTIME_FOLDER = str(Path(__file__).parent)
MAX_XRAY_CAUSE_CHARS = 64 * 1024  # characters of a header


class Fault(Exception):  # noqa: N818 - Lambda's word for it
    """An error to report. `kind` is its class name, or a type of Lambda's that begins with `Runtime.` or `Function.`"""

    def __init__(self, kind: str, message: str, frames: list[traceback.FrameSummary] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.frames = frames or []

    @classmethod
    def from_exception(cls, error: BaseException, kind: str = "", message: str = "") -> "Fault":
        """The fault for an exception, with the stack frames from the handler on, as Lambda's client reports it."""
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
        """The error as one line of JSON for X-Ray; empty if it is too long for a header."""
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
    """Converts exceptions inside the block to Faults; a Fault passes unchanged."""
    try:
        yield
    except Fault:
        raise
    except Exception as error:
        raise Fault.from_exception(error, kind, f"{prefix}{error}") from error
