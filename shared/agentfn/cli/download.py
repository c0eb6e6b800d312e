"""A task's artifacts as files of a folder, and nowhere else."""

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
    """One part of an artifact. `error` says why it could not be had; then there is no file. `size` is in bytes."""

    path: Path
    media_type: str
    size: int = 0
    error: str = ""


def check_output_folder(folder: Path) -> None:
    """Raises Stop where no folder of that name can be: better now than when there is something to keep."""
    if folder.exists() and not folder.is_dir():
        raise CliError(f"{folder} is a file; --output names a folder", 2)


class OutputFolder:
    """Where artifacts go. A file of an earlier task makes room; two of this one have two names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used_names: set[str] = set()

    def save(self, artifacts: Iterable[Artifact]) -> list[SavedFile]:
        """All files, through their links where they have one. The agent's token does not go there."""
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
            partial.replace(path)  # a link that lies there is replaced, not followed
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
