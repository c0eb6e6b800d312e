"""The doors for files beside the protocol's own: a download that stays where it is, and an upload past the function."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agentfn.a2a.file_links import PATH, key_of, read_id
from agentfn.errors import StorageError
from agentfn.files import Uploads, sanitize_file_name
from agentfn.runs.runner import Runner
from agentfn.telemetry import logger
from agentfn.tools import File
from agentfn.tools.workspaces.file_names import MEDIA_TYPE

UPLOADS_PATH = "/uploads"
LONGEST_TYPE = 200  # characters
FRESH = {"Cache-Control": "no-store"}
NO_FILE = "There is no such file, or it has expired."
FAILED = "The file's place cannot be reached at the moment; the agent's log says why."

Answer = Callable[[Request], Awaitable[Response]]


class Unfit(ValueError):  # noqa: N818 - it reads as a state
    """`field` of a request cannot be taken as it is."""

    def __init__(self, field: str, text: str, status: int = 400) -> None:
        super().__init__(f"{field}: {text}" if field else text)
        self.field, self.status = field, status


@dataclass(frozen=True)
class Wanted:
    """An upload that somebody wants to make, of at most `most` bytes."""

    name: str
    media_type: str
    most: int


def file_routes(runner: Runner) -> list[Route]:
    """Behind the guard: each request has its caller."""
    door = FileDoor(runner)
    return [
        Route(f"{PATH}{{id}}", _minded(door.download), methods=["GET"]),
        Route(UPLOADS_PATH, _minded(door.offer), methods=["POST"]),
    ]


class FileDoor:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._bucket = runner.bucket

    async def download(self, request: Request) -> Response:
        """On to a link that was signed just now. What is another caller's is as if it were not there."""
        key = await self._key(request.path_params["id"], request.scope["agentfn.auth.identity"].user_name)
        if key is None or await run_in_threadpool(self._bucket.held, key) is None:
            return _refused(404, NO_FILE)
        return RedirectResponse(self._bucket.link(key), 302, FRESH)

    async def offer(self, request: Request) -> Response:
        """What an upload is made with, and the part by which a message refers to it."""
        try:
            wanted = read_wanted(await request.body(), self._runner.settings.max_upload_size)
        except Unfit as unfit:
            return _refused(unfit.status, str(unfit), field=unfit.field)
        uploads = Uploads(self._bucket, self._runner.agent.name, request.scope["agentfn.auth.identity"].user_name)
        upload_id, form = await run_in_threadpool(uploads.form, wanted.name, wanted.media_type, wanted.most)
        offered = {
            "id": upload_id,
            "url": form.url,
            "fields": form.fields,
            "expires": f"{form.expires:%Y-%m-%dT%H:%M:%SZ}",
            "maxSize": wanted.most,
            "part": {"url": f"upload:{upload_id}", "filename": wanted.name, "mediaType": wanted.media_type},
        }
        return JSONResponse(offered, 201, FRESH)

    async def _key(self, text: str, owner: str) -> str | None:
        ids = read_id(text)
        head = await self._runner.tasks.read(owner, ids[0]) if ids else None
        return key_of(head.task, ids[1]) if ids and head else None


def read_wanted(body: bytes, most: int) -> Wanted:
    """Raises Unfit, which names the field."""
    try:
        shape: Any = json.loads(body)
    except (ValueError, RecursionError):
        shape = None
    if not isinstance(shape, dict):
        raise Unfit("", 'the body must be a JSON object, as {"name": "a.csv", "mediaType": "text/csv", "size": 1000}')
    name, kind, size = (shape.get(field) for field in ("name", "mediaType", "size"))
    if not isinstance(name, str) or not name.strip():
        raise Unfit("name", "must be a text, the file's name")
    if kind is not None and not (isinstance(kind, str) and len(kind) <= LONGEST_TYPE and MEDIA_TYPE.fullmatch(kind)):
        raise Unfit("mediaType", "must be a media type, as text/csv; it may be left out")
    if size is not None and (type(size) is not int or size < 1):
        raise Unfit("size", "must be a whole number of bytes, 1 at least; it may be left out")
    if size is not None and size > most:
        raise Unfit("size", f"{size:,} bytes; {most:,} are allowed", 413)
    called = sanitize_file_name(name)
    return Wanted(called, kind or File(called, b"").content_type, size or most)


def _minded(answer: Answer) -> Answer:
    """What AWS, or the state that is there, does not let us answer is in the log."""

    async def minded(request: Request) -> Response:
        try:
            return await answer(request)
        except (BotoCoreError, ClientError, StorageError):
            logger.exception("a file's door failed")
            return _refused(503, FAILED)

    return minded


def _refused(status: int, text: str, **more: str) -> JSONResponse:
    return JSONResponse({"error": text, **{name: value for name, value in more.items() if value}}, status, FRESH)
