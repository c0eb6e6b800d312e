"""The agent in agents/steps, deployed, and what can be seen of it from outside."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2a.types import Task

from e2e.a2a_client import AgentClient
from e2e.deployment import Account

PAUSE = 1.2
"""Seconds that its model takes for each answer: a run of 8 seconds, which starts no tool in the last 3, holds four."""


@dataclass(frozen=True)
class RecordedStep:
    """What a tool did, such as "mark-7" for the seventh step, and when, in seconds since 1970."""

    what: str
    at: float


@dataclass(frozen=True)
class StepsAgent:
    """`storage` is the storage stack's name, `outputs` are those of the agent's own stack."""

    account: Account
    storage: str
    outputs: dict[str, str]
    caller: AgentClient

    def marks(self, task: Task) -> list[RecordedStep]:
        """One for each time that a tool really ran, in that order."""
        bucket = self.account.exported(f"{self.storage}-bucket")
        prefix = f"steps/marks/{task.id}/"
        pages = self.account.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        names = [item["Key"].removeprefix(prefix).split() for page in pages for item in page.get("Contents", [])]
        return sorted((RecordedStep(what, float(at)) for at, what, _ in names), key=lambda mark: mark.at)

    def steps_done(self, task: Task) -> list[str]:
        return [mark.what for mark in self.marks(task)]

    def runs(self, task: Task) -> int:
        return self.account.runs(self.storage, task.id)

    def rule(self) -> dict[str, Any]:
        """The one schedule of the function, as EventBridge has it."""
        events, functions = self.account.client("events"), self.account.client("lambda")
        arn = functions.get_function_configuration(FunctionName=self.outputs["FunctionName"])["FunctionArn"]
        (name,) = events.list_rule_names_by_target(TargetArn=arn)["RuleNames"]
        rule: dict[str, Any] = events.describe_rule(Name=name)
        return rule

    def target(self) -> dict[str, Any]:
        """Of that schedule."""
        (target,) = self.account.client("events").list_targets_by_rule(Rule=self.rule()["Name"])["Targets"]
        found: dict[str, Any] = target
        return found

    def sweep(self) -> dict[str, int]:
        """What the schedule does, now and through the Lambda API."""
        target = self.target()
        answer = self.account.client("lambda").invoke(FunctionName=target["Arn"], Payload=target["Input"])
        said: dict[str, int] = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, said
        return said

    def queue(self, output: str) -> dict[str, str]:
        """The attributes of the queue whose address is that output."""
        queues = self.account.client("sqs")
        answer = queues.get_queue_attributes(QueueUrl=self.outputs[output], AttributeNames=["All"])
        found: dict[str, str] = answer["Attributes"]
        return found

    def dead_letters(self) -> int:
        """Messages in the dead-letter queue, those that somebody looks at included."""
        attributes = self.queue("DeadLettersUrl")
        counts = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return sum(int(attributes[count]) for count in counts)

    def dead_letter(self) -> dict[str, Any]:
        """The one message in the dead-letter queue. The look takes nothing away."""
        url = self.outputs["DeadLettersUrl"]
        queues = self.account.client("sqs")
        answer = queues.receive_message(QueueUrl=url, VisibilityTimeout=0, MessageSystemAttributeNames=["All"])
        (message,) = answer["Messages"]
        found: dict[str, Any] = message
        return found


def deploy_steps(account: Account, storage: str, built: Path, stack: str, **parameters: str) -> StepsAgent:
    parameters |= {"AgentName": "steps", "CodeUri": "built", "Model": "steps", "StorageStack": storage}
    outputs = account.deploy(built, stack, **parameters)
    account.set_variable(outputs["FunctionName"], "STEPS_PAUSE", str(PAUSE))
    caller = AgentClient(account.endpoint, outputs["Url"], account.token(outputs["TokenSecretArn"]))
    return StepsAgent(account, storage, outputs, caller)


def eventually(holds: Callable[[], bool], seconds: float) -> None:
    """Waits until it does. Fails when that takes longer than `seconds`."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        time.sleep(0.2)
