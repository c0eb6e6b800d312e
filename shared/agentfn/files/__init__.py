"""Stores the files of tasks in the bucket: artifacts, attachments and uploads."""

from agentfn.files.bucket import Bucket
from agentfn.files.task_workspace import TaskWorkspace
from agentfn.files.upload_store import Upload, UploadStore

__all__ = ["Bucket", "TaskWorkspace", "Upload", "UploadStore"]
