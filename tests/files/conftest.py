"""A bucket in memory."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from agentfn.aws_clients import aws_client
from agentfn.files import Bucket, TaskWorkspace
from agentfn.local.aws_resources import create_resources

REGION = "eu-central-1"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Made as a deployed agent makes it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        aws_client.cache_clear()
        resources = create_resources(f"files-{uuid.uuid4().hex[:8]}", REGION)
        yield Bucket(lambda: aws_client("s3"), resources.bucket, 3600)
        aws_client.cache_clear()


@pytest.fixture
def files(bucket: Bucket) -> Iterator[TaskWorkspace]:
    with TaskWorkspace(bucket, "clerk/alice/task-1/") as files:
        yield files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder with a neighbour."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "inside.txt").write_text("inside")
    (tmp_path / "outside.txt").write_text("outside")
    return work
