"""Saves a task's artifacts as files, only in the output folder."""

import json
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from a2a.types import Artifact, Part
from google.protobuf.json_format import MessageToDict

from agentfn.cli.client import is_loopback
from agentfn.cli.terminal import CliError, strip_control_chars
from agentfn.json_numbers import decode_numbers
from agentfn.tools.workspaces.file_names import sanitize_file_name

NON_PORTABLE_CHARS = re.compile(r'[<>:"|?*]')  # in file names; a colon is a path on Windows
DOWNLOAD_TIMEOUT = httpx.Timeout(60.0, connect=10.0)


@dataclass(frozen=True)
class SavedFile:
    """The file of an artifact's part. `size` is in bytes. With an `error` there is no file."""

    path: Path
    media_type: str
    size: int = 0
    error: str = ""


def check_output_folder(folder: Path) -> None:
    """Raises CliError if the path is a file, before there is something to save."""
    if folder.exists() and not folder.is_dir():
        raise CliError(f"{folder} is a file; --output names a folder", 2)


class OutputFolder:
    """The folder for artifacts. Files of earlier tasks are overwritten; files of this task get unique names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used_names: set[str] = set()

    def save(self, artifacts: Iterable[Artifact]) -> list[SavedFile]:
        """Saves all parts, and downloads those with a URL, without the agent's token."""
        parts = [(part, artifact) for artifact in artifacts for part in artifact.parts]
        return [self._save(part, self._free_path(part, artifact)) for part, artifact in parts]

    def _save(self, part: Part, path: Path) -> SavedFile:
        self._path.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._path, prefix=".agentfn-", delete=False) as file:
            partial = Path(file.name)
        try:
            if part.HasField("url"):
                _fetch(part.url, partial)
            else:
                partial.write_bytes(_part_content(part))
            partial.chmod(0o644)
            partial.replace(path)  # replaces a symbolic link instead of following it
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return SavedFile(path, part.media_type, error=strip_control_chars(str(error)) or type(error).__name__)
        finally:
            partial.unlink(missing_ok=True)
        return SavedFile(path, part.media_type, path.stat().st_size)

    def _free_path(self, part: Part, artifact: Artifact) -> Path:
        given = part.filename or artifact.name or artifact.artifact_id
        name = NON_PORTABLE_CHARS.sub("_", sanitize_file_name(given, "artifact"))
        stem, dot, suffix = name.rpartition(".") if "." in name else (name, "", "")
        number = 1
        while name.lower() in self._used_names or (self._path / name).is_dir():
            number += 1
            name = f"{stem} ({number}){dot}{suffix}"
        self._used_names.add(name.lower())
        return self._path / name


def _fetch(link: str, path: Path) -> None:
    if urlsplit(link).scheme not in ("http", "https"):
        raise ValueError(f"its link is not http(s): {link[:60]}")
    with (
        httpx.Client(timeout=DOWNLOAD_TIMEOUT, trust_env=not is_loopback(link), follow_redirects=True) as http,
        http.stream("GET", link) as response,
        path.open("wb") as file,
    ):
        if response.is_error:
            raise ValueError(f"its link answered HTTP {response.status_code}")
        for piece in response.iter_bytes():
            file.write(piece)


def _part_content(part: Part) -> bytes:
    if part.HasField("raw"):
        return part.raw
    if part.HasField("data"):
        return json.dumps(decode_numbers(MessageToDict(part.data), free_json=True), ensure_ascii=False).encode()
    return part.text.encode()
