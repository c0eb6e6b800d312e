"""Files: artifacts in the bucket, and sources as local files."""

from agentfn.files.bucket import Bucket
from agentfn.files.fetcher import Fetcher
from agentfn.files.source import fetch_source, read_source
from agentfn.files.uploads import Upload, Uploads
from agentfn.files.workspace import TaskFiles
from agentfn.tools.workspaces.file_names import sanitize_file_name

__all__ = ["Bucket", "Fetcher", "TaskFiles", "Upload", "Uploads", "fetch_source", "read_source", "sanitize_file_name"]
