"""Files: artifacts in the bucket, and sources as local files."""

from agentfn.files.bucket import Bucket
from agentfn.files.source import read_source
from agentfn.files.workspace import TaskFiles
from agentfn.tools.names import safe_name

__all__ = ["Bucket", "TaskFiles", "read_source", "safe_name"]
