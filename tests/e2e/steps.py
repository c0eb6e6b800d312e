"""The agent in agents/steps, deployed, and what can be seen of it from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from a2a.types import Task

from e2e.caller import Caller
from e2e.deployment import Account

STORAGE = "agentfn-storage"


@dataclass(frozen=True)
class Mark:
    """What a tool did, such as "mark-7" for the seventh step, and when in seconds since 1970."""

    what: str
    at: float


@dataclass(frozen=True)
class Steps:
    """`outputs` are the stack's."""

    account: Account
    caller: Caller
    outputs: dict[str, str]

    def marks(self, task: Task) -> list[Mark]:
        """One for each time that a tool really ran, in that order."""
        bucket = self.account.exported(f"{STORAGE}-bucket")
        prefix = f"steps/marks/{task.id}/"
        pages = self.account.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        names = [item["Key"].removeprefix(prefix).split() for page in pages for item in page.get("Contents", [])]
        return sorted((Mark(what, float(at)) for at, what, _ in names), key=lambda mark: mark.at)

    def did(self, task: Task) -> list[str]:
        return [mark.what for mark in self.marks(task)]

    def runs(self, task: Task) -> int:
        return self.account.runs(STORAGE, task.id)

    def invoke(self, payload: str) -> dict[str, Any]:
        """Through the Lambda API."""
        functions = self.account.client("lambda")
        answer = functions.invoke(FunctionName=self.outputs["FunctionName"], Payload=payload)
        said: dict[str, Any] = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, said
        return said

    def dead_letters(self) -> list[dict[str, Any]]:
        """A look that takes nothing away."""
        url = self.outputs["DeadLettersUrl"]
        answer = self.account.client("sqs").receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageSystemAttributeNames=["All"]
        )
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found

    @contextmanager
    def lease(self, seconds: float) -> Iterator[None]:
        """For as long as nothing else is under way."""
        function, name = self.outputs["FunctionName"], "AGENTFN_LEASE_SECONDS"
        self.account.set_variable(function, name, str(seconds))
        try:
            yield
        finally:
            self.account.set_variable(function, name, "")
