"""Uploads files that are too large for a message, to the URL that the agent provides."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
from a2a.types import Message, Part

from agentfn.cli.client import is_loopback, unauthorized_text, unreachable_text
from agentfn.cli.terminal import CliError, PrintLine, strip_control_chars

LOCAL_FILE_SCHEME = "here:"  # prefix of the URL of a part whose file is not uploaded yet; the path follows
UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=10.0)


def is_local_file(part: Part) -> bool:
    return part.url.startswith(LOCAL_FILE_SCHEME)


async def upload_files(message: Message, url: str, token: str, show: PrintLine) -> Message:
    """Uploads the local files, and returns the message with their new URLs. Raises CliError."""
    sent = Message()
    sent.CopyFrom(message)
    for part in filter(is_local_file, sent.parts):
        path = Path(part.url.removeprefix(LOCAL_FILE_SCHEME))
        try:
            part.url = await _upload_file(path, part, url, token)
        except httpx.RequestError as error:
            raise CliError(unreachable_text(str(error.request.url.copy_with(query=None)), error)) from error
        except OSError as error:
            raise CliError(f"the file {path} cannot be read: {error.strerror}", 2) from None
        show(f"{strip_control_chars(part.filename)} is uploaded")
    return sent


async def _upload_file(path: Path, part: Part, url: str, token: str) -> str:
    """The URL of the uploaded file for the message. The token is sent to the agent only, not to the upload's URL."""
    size = (await asyncio.to_thread(path.stat)).st_size
    wanted = {"name": part.filename, "mediaType": part.media_type, "size": size}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=UPLOAD_TIMEOUT, trust_env=not is_loopback(url)) as http:
        offer = _read_upload_offer(await http.post(f"{url.rstrip('/')}/uploads", json=wanted, headers=headers), path)
    async with httpx.AsyncClient(timeout=UPLOAD_TIMEOUT, trust_env=not is_loopback(offer["url"])) as http:
        with path.open("rb") as file:
            answer = await http.post(offer["url"], data=offer["fields"], files={"file": (path.name, file)})
    if answer.is_error:
        raise CliError(f"the upload of {path} was rejected: HTTP {answer.status_code}")
    return str(offer["part"]["url"])


def _read_upload_offer(answer: httpx.Response, path: Path) -> dict[str, Any]:
    status = answer.status_code
    if status in (401, 403):
        raise CliError(unauthorized_text(status))
    try:
        shape: dict[str, Any] = answer.json()
        if status == 201:
            httpx.URL(shape["url"]), dict(shape["fields"]), shape["part"]["url"]
            return shape
        said = f": {strip_control_chars(str(shape['error']))}"
    except (ValueError, KeyError, TypeError, httpx.InvalidURL):
        said = ""
    raise CliError(
        f"the agent does not accept an upload of {path} (HTTP {status}{said}); about 4.4 MB of files fit into a message"
    )
