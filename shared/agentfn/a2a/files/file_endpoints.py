"""The doors for files beside the protocol's own: a download that stays where it is, and an upload past the function."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agentfn.a2a.file_links import FILES_PATH, find_object_key, parse_file_id
from agentfn.call_context import CallContext
from agentfn.errors import AwsError, StoredDataError
from agentfn.files import Bucket, UploadStore
from agentfn.store import TaskStore
from agentfn.telemetry import logger
from agentfn.tools import File
from agentfn.tools.workspaces.file_names import MEDIA_TYPE, sanitize_file_name

UPLOADS_PATH = "/uploads"
MAX_MEDIA_TYPE_CHARS = 200  # characters
NO_STORE_HEADERS = {"Cache-Control": "no-store"}
FILE_NOT_FOUND = "There is no such file, or it has expired."
STORAGE_UNAVAILABLE = "The file's place cannot be reached at the moment; the agent's log says why."

Endpoint = Callable[[Request], Awaitable[Response]]


class InvalidUpload(ValueError):  # noqa: N818 - it reads as a state
    """`field` of a request cannot be taken as it is."""

    def __init__(self, field: str, text: str, status: int = 400) -> None:
        super().__init__(f"{field}: {text}" if field else text)
        self.field, self.status = field, status


@dataclass(frozen=True)
class UploadRequest:
    """An upload that somebody wants to make, of at most `most` bytes."""

    name: str
    media_type: str
    max_bytes: int


def file_routes(task_store: TaskStore, bucket: Bucket, agent_name: str, max_upload_bytes: int) -> list[Route]:
    """Behind the guard: each request has its caller."""
    door = FileEndpoints(task_store, bucket, agent_name, max_upload_bytes)
    return [
        Route(f"{FILES_PATH}{{id}}", _map_storage_errors(door.download), methods=["GET"]),
        Route(UPLOADS_PATH, _map_storage_errors(door.create_upload), methods=["POST"]),
    ]


class FileEndpoints:
    def __init__(self, task_store: TaskStore, bucket: Bucket, agent_name: str, max_upload_bytes: int) -> None:
        self._task_store = task_store
        self._bucket = bucket
        self._agent_name = agent_name
        self._max_upload_bytes = max_upload_bytes

    async def download(self, request: Request) -> Response:
        """On to a link that was signed just now. What is another caller's is as if it were not there."""
        key = await self._find_key(request.path_params["id"], CallContext.from_scope(request.scope).caller.id)
        if key is None or await run_in_threadpool(self._bucket.get_info, key) is None:
            return _error_response(404, FILE_NOT_FOUND)
        return RedirectResponse(self._bucket.presigned_url(key), 302, NO_STORE_HEADERS)

    async def create_upload(self, request: Request) -> Response:
        """What an upload is made with, and the part by which a message refers to it."""
        try:
            wanted = parse_upload_request(await request.body(), self._max_upload_bytes)
        except InvalidUpload as unfit:
            return _error_response(unfit.status, str(unfit), field=unfit.field)
        uploads = UploadStore(self._bucket, self._agent_name, CallContext.from_scope(request.scope).caller.id)
        upload_id, form = await run_in_threadpool(uploads.create_form, wanted.name, wanted.media_type, wanted.max_bytes)
        offered = {
            "id": upload_id,
            "url": form.url,
            "fields": form.fields,
            "expires": f"{form.expires:%Y-%m-%dT%H:%M:%SZ}",
            "maxSize": wanted.max_bytes,
            "part": {"url": f"upload:{upload_id}", "filename": wanted.name, "mediaType": wanted.media_type},
        }
        return JSONResponse(offered, 201, NO_STORE_HEADERS)

    async def _find_key(self, text: str, owner: str) -> str | None:
        ids = parse_file_id(text)
        head = await self._task_store.read(owner, ids[0]) if ids else None
        return find_object_key(head.task, ids[1]) if ids and head else None


def parse_upload_request(body: bytes, max_bytes: int) -> UploadRequest:
    """Raises Unfit, which names the field."""
    try:
        shape: Any = json.loads(body)
    except (ValueError, RecursionError):
        shape = None
    if not isinstance(shape, dict):
        raise InvalidUpload(
            "", 'the body must be a JSON object, as {"name": "a.csv", "mediaType": "text/csv", "size": 1000}'
        )
    name, kind, size = (shape.get(field) for field in ("name", "mediaType", "size"))
    if not isinstance(name, str) or not name.strip():
        raise InvalidUpload("name", "must be a text, the file's name")
    if kind is not None and not (
        isinstance(kind, str) and len(kind) <= MAX_MEDIA_TYPE_CHARS and MEDIA_TYPE.fullmatch(kind)
    ):
        raise InvalidUpload("mediaType", "must be a media type, as text/csv; it may be left out")
    if size is not None and (type(size) is not int or size < 1):
        raise InvalidUpload("size", "must be a whole number of bytes, 1 at least; it may be left out")
    if size is not None and size > max_bytes:
        raise InvalidUpload("size", f"{size:,} bytes; {max_bytes:,} are allowed", 413)
    called = sanitize_file_name(name)
    return UploadRequest(called, kind or File(called, b"").content_type, size or max_bytes)


def _map_storage_errors(answer: Endpoint) -> Endpoint:
    """What AWS, or the state that is there, does not let us answer is in the log."""

    async def minded(request: Request) -> Response:
        try:
            return await answer(request)
        except (AwsError, StoredDataError):
            logger.exception("a file's door failed")
            return _error_response(503, STORAGE_UNAVAILABLE)

    return minded


def _error_response(status: int, text: str, **more: str) -> JSONResponse:
    return JSONResponse(
        {"error": text, **{name: value for name, value in more.items() if value}}, status, NO_STORE_HEADERS
    )
