"""Files: artifacts in the bucket, and sources as local files."""

from agentfn.fetch.fetcher import Fetcher
from agentfn.fetch.source import fetch_source, read_source
from agentfn.files.bucket import Bucket
from agentfn.files.task_workspace import TaskWorkspace
from agentfn.files.upload_store import Upload, UploadStore
from agentfn.tools.workspaces.file_names import sanitize_file_name

__all__ = [
    "Bucket",
    "Fetcher",
    "TaskWorkspace",
    "Upload",
    "UploadStore",
    "fetch_source",
    "read_source",
    "sanitize_file_name",
]
