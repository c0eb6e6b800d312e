"""Batches of the agent's queue (SQS): continuations of tasks, and push notifications to deliver."""

from typing import Any

from agentfn.a2a.push.webhook_delivery import WebhookDelivery
from agentfn.deadline import Deadline, LambdaContext
from agentfn.errors import AwsError, StoredDataError
from agentfn.event_sources.event_source import Event
from agentfn.runs.runner import Runner
from agentfn.runs.work_queue import Continuation, PushJob, parse_message
from agentfn.telemetry import logger


class SqsEventSource:
    """Handles each message of a batch, and reports those that failed: the queue delivers only these again."""

    def __init__(self, runner: Runner, webhook_delivery: WebhookDelivery, reserve_seconds: float) -> None:
        self._runner = runner
        self._webhook_delivery = webhook_delivery
        self._reserve_seconds = reserve_seconds

    def matches(self, event: Event) -> bool:
        records = event.get("Records")
        first = records[0] if isinstance(records, list) and records else None
        return isinstance(first, dict) and first.get("eventSource") == "aws:sqs"

    async def handle(self, event: Event, context: LambdaContext) -> dict[str, list[dict[str, str]]]:
        """The partial batch response. A message that cannot be parsed is dropped: it would fail every time."""
        failures = []
        for record in event["Records"]:
            try:
                message = parse_message(record)
            except (ValueError, KeyError, TypeError):
                logger.error("dropped a message that cannot be parsed", message_id=record.get("messageId"))
                continue
            if not await self._handle_message(message, context):
                failures.append({"itemIdentifier": message.message_id})
        return {"batchItemFailures": failures}

    async def _handle_message(self, message: Continuation | PushJob, context: LambdaContext) -> bool:
        """Whether the message is done with."""
        deadline = Deadline.from_lambda_context(context, reserve_seconds=self._reserve_seconds)
        try:
            await self._dispatch(message, deadline)
        except AwsError:
            logger.exception("an AWS call failed; the queue delivers the message again", task_id=message.task_id)
            await self._runner.release_message(message)
            return False
        except StoredDataError as error:  # written by a later version, which may receive the message next time
            logger.error("not resumed: %s", error, task_id=message.task_id)
            return False
        return True

    async def _dispatch(self, message: Continuation | PushJob, deadline: Deadline) -> Any:
        if isinstance(message, PushJob):
            return await self._webhook_delivery.deliver(message, deadline)
        return await self._runner.resume(message, deadline)
