"""HTTP endpoints for files: a permanent URL for downloads, and uploads that go straight to the bucket."""

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
MAX_MEDIA_TYPE_CHARS = 200
NO_STORE_HEADERS = {"Cache-Control": "no-store"}
FILE_NOT_FOUND = "There is no such file, or it has expired."
STORAGE_UNAVAILABLE = "The file's place cannot be reached at the moment; the agent's log says why."

Endpoint = Callable[[Request], Awaitable[Response]]


class InvalidUpload(ValueError):  # noqa: N818
    """A request for an upload is invalid: its `field`, or all of it if that is empty."""

    def __init__(self, field: str, text: str, status: int = 400) -> None:
        super().__init__(f"{field}: {text}" if field else text)
        self.field, self.status = field, status


@dataclass(frozen=True)
class UploadRequest:
    """A request for an upload of at most `max_bytes`."""

    name: str
    media_type: str
    max_bytes: int


def file_routes(task_store: TaskStore, bucket: Bucket, agent_name: str, max_upload_bytes: int) -> list[Route]:
    """Creates the routes. They need AuthenticationMiddleware."""
    endpoints = FileEndpoints(task_store, bucket, agent_name, max_upload_bytes)
    return [
        Route(f"{FILES_PATH}{{id}}", _map_storage_errors(endpoints.download), methods=["GET"]),
        Route(UPLOADS_PATH, _map_storage_errors(endpoints.create_upload), methods=["POST"]),
    ]


class FileEndpoints:
    def __init__(self, task_store: TaskStore, bucket: Bucket, agent_name: str, max_upload_bytes: int) -> None:
        self._task_store = task_store
        self._bucket = bucket
        self._agent_name = agent_name
        self._max_upload_bytes = max_upload_bytes

    async def download(self, request: Request) -> Response:
        """Redirects to a presigned URL. Other callers' files are not found."""
        key = await self._find_key(request.path_params["id"], CallContext.from_scope(request.scope).caller.id)
        if key is None or await run_in_threadpool(self._bucket.get_info, key) is None:
            return _error_response(404, FILE_NOT_FOUND)
        return RedirectResponse(self._bucket.presigned_url(key), 302, NO_STORE_HEADERS)

    async def create_upload(self, request: Request) -> Response:
        """Answers with a presigned form for the upload, and with the part that refers to it in a message."""
        try:
            upload = parse_upload_request(await request.body(), self._max_upload_bytes)
        except InvalidUpload as error:
            return _error_response(error.status, str(error), field=error.field)
        uploads = UploadStore(self._bucket, self._agent_name, CallContext.from_scope(request.scope).caller.id)
        upload_id, form = await run_in_threadpool(uploads.create_form, upload.name, upload.media_type, upload.max_bytes)
        content = {
            "id": upload_id,
            "url": form.url,
            "fields": form.fields,
            "expires": f"{form.expires:%Y-%m-%dT%H:%M:%SZ}",
            "maxSize": upload.max_bytes,
            "part": {"url": f"upload:{upload_id}", "filename": upload.name, "mediaType": upload.media_type},
        }
        return JSONResponse(content, 201, NO_STORE_HEADERS)

    async def _find_key(self, text: str, owner: str) -> str | None:
        ids = parse_file_id(text)
        record = await self._task_store.read(owner, ids[0]) if ids else None
        return find_object_key(record.task, ids[1]) if ids and record else None


def parse_upload_request(body: bytes, max_bytes: int) -> UploadRequest:
    """Parses the JSON body. Raises InvalidUpload, which names the field."""
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InvalidUpload(
            "", 'the body must be a JSON object, as {"name": "a.csv", "mediaType": "text/csv", "size": 1000}'
        )
    name, media_type, size = (content.get(field) for field in ("name", "mediaType", "size"))
    if not isinstance(name, str) or not name.strip():
        raise InvalidUpload("name", "must be a text, the file's name")
    if media_type is not None and not (
        isinstance(media_type, str) and len(media_type) <= MAX_MEDIA_TYPE_CHARS and MEDIA_TYPE.fullmatch(media_type)
    ):
        raise InvalidUpload("mediaType", "must be a media type, as text/csv; it may be left out")
    if size is not None and (type(size) is not int or size < 1):
        raise InvalidUpload("size", "must be a whole number of bytes, 1 at least; it may be left out")
    if size is not None and size > max_bytes:
        raise InvalidUpload("size", f"{size:,} bytes; {max_bytes:,} are allowed", 413)
    safe_name = sanitize_file_name(name)
    return UploadRequest(safe_name, media_type or File(safe_name, b"").content_type, size or max_bytes)


def _map_storage_errors(endpoint: Endpoint) -> Endpoint:
    """Answers with status 503 if AWS or the stored data causes an error, and logs it."""

    async def wrapped(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (AwsError, StoredDataError):
            logger.exception("could not serve a file")
            return _error_response(503, STORAGE_UNAVAILABLE)

    return wrapped


def _error_response(status: int, text: str, **fields: str) -> JSONResponse:
    return JSONResponse(
        {"error": text, **{name: value for name, value in fields.items() if value}}, status, NO_STORE_HEADERS
    )
