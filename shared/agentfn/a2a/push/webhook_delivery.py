"""Delivers a task's events to webhooks: in order, at least once."""

import asyncio
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.types import StreamResponse
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict

from agentfn.a2a.outbound_task import presign_event, presign_task
from agentfn.a2a.push.push_configs import WebhookClient
from agentfn.a2a.push.webhook_signer import SIGNATURE_HEADER, WebhookSigner
from agentfn.deadline import Deadline
from agentfn.errors import ConfigurationError, FileRejected
from agentfn.files import Bucket
from agentfn.json_numbers import decode_numbers
from agentfn.runs.work_queue import RECHECK_DELAY_SECONDS, PushJob, WorkQueue
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.push_store import PushStore, PushSubscription, mark_delivered
from agentfn.telemetry import logger

MAX_ATTEMPTS = 8
INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 5.0, 900.0
CLAIM_SECONDS = 60.0  # for so long, other invocations do not deliver to the same webhook
STATUS_GONE = 410  # the subscriber wants no more notifications


class WebhookDelivery:
    """Posts events to the webhooks of a task's subscriptions. Without a `signer`, notifications are not signed."""

    def __init__(
        self,
        agent_name: str,
        task_store: TaskStore,
        queue: WorkQueue,
        bucket: Bucket,
        push_store: PushStore,
        webhook_client: WebhookClient,
        signer: WebhookSigner | None = None,
    ) -> None:
        self._agent_name = agent_name
        self._task_store = task_store
        self._queue = queue
        self._bucket = bucket
        self._push_store = push_store
        self._webhook_client = webhook_client
        self._signer = signer

    async def deliver(self, job: PushJob, deadline: Deadline) -> None:
        """Delivers the events that the task's subscribers have not received. Failures are retried with a backoff."""
        record = await self._task_store.read(job.owner, job.task_id)
        if record is None or record.version < job.version:
            if job.is_recent(self._task_store.clock()):
                await self._queue.send(job, RECHECK_DELAY_SECONDS)
            return
        subscriptions = [
            subscription
            for subscription in await self._push_store.list_all(record)
            if not subscription.has_failed and job.config_id in ("", subscription.config.id)
        ]
        await asyncio.gather(*(self._deliver_to(record, subscription, deadline) for subscription in subscriptions))

    async def _deliver_to(self, record: TaskRecord, subscription: PushSubscription, deadline: Deadline) -> None:
        if not await self._push_store.claim(record, subscription, self._task_store.clock() + CLAIM_SECONDS):
            await self._enqueue_retry(record, subscription, INITIAL_BACKOFF_SECONDS)  # another invocation delivers now
            return
        # Another invocation may have delivered since the subscription was read.
        subscription = await self._push_store.get(record, subscription.config.id) or subscription
        while events := await self._task_store.read_events(
            record.owner, record.task.id, after=subscription.delivered_version
        ):
            for version, responses in events:
                if deadline.passed:
                    await self._push_store.save_progress(record, subscription)
                    await self._enqueue_retry(record, subscription, 0.0)
                    return
                status = await self._post_events(record, subscription, responses)
                if not 200 <= status < 300:
                    await self._record_failure(record, subscription, status)
                    return
                subscription = mark_delivered(subscription, version)
                if not await self._push_store.save_progress(
                    record, subscription, busy_until=self._task_store.clock() + CLAIM_SECONDS
                ):
                    return  # the subscription was deleted
        await self._push_store.save_progress(record, subscription)

    async def _post_events(
        self, record: TaskRecord, subscription: PushSubscription, responses: Sequence[StreamResponse]
    ) -> int:
        """Posts the events until one fails. Returns the last response's status; 0 if there was no response."""
        for content in await self._event_bodies(record, subscription, responses):
            body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
            try:
                headers = _request_headers(subscription) | await self._signature_headers(subscription, body)
                status = await self._webhook_client.post(subscription.config.url, body, headers)
            except (FileRejected, ConfigurationError) as error:
                logger.warning("could not notify a webhook: %s", error, task_id=record.task.id)
                status = 0
            if not 200 <= status < 300:
                return status
        return 200

    async def _signature_headers(self, subscription: PushSubscription, body: bytes) -> dict[str, str]:
        """Returns the signature's header; also a bearer token, if the subscriber wants one and gave none."""
        if self._signer is None:
            return {}
        issuer = subscription.agent_url or self._agent_name
        token = await self._signer.sign(issuer, subscription.config.url, subscription.config.task_id, body)
        authentication = subscription.config.authentication
        needs_token = authentication.scheme.lower() == "bearer" and not authentication.credentials
        return {SIGNATURE_HEADER: token, **({"Authorization": f"Bearer {token}"} if needs_token else {})}

    async def _event_bodies(
        self, record: TaskRecord, subscription: PushSubscription, responses: Sequence[StreamResponse]
    ) -> list[Any]:
        """Returns the JSON to post: the events. A 0.3 subscriber gets the current task instead."""
        if subscription.uses_v0_3:
            latest = await self._task_store.read(record.owner, record.task.id) or record
            old_task = conversions.to_compat_task(presign_task(latest.task, self._bucket, subscription.agent_url))
            return [decode_numbers(old_task.model_dump(mode="json", by_alias=True, exclude_none=True))]
        presigned = [presign_event(response, self._bucket, subscription.agent_url) for response in responses]
        return [decode_numbers(MessageToDict(to_stream_response(event))) for event in presigned]

    async def _record_failure(self, record: TaskRecord, subscription: PushSubscription, status: int) -> None:
        failures = subscription.failures + 1
        give_up = failures >= MAX_ATTEMPTS or status == STATUS_GONE
        subscription = dataclasses.replace(subscription, failures=failures, has_failed=give_up)
        await self._push_store.save_progress(record, subscription)
        if give_up:
            logger.warning("gave up on a webhook", task_id=record.task.id, status=status, tries=failures)
            return
        await self._enqueue_retry(
            record, subscription, min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** (failures - 1))
        )

    async def _enqueue_retry(self, record: TaskRecord, subscription: PushSubscription, delay_seconds: float) -> None:
        job = PushJob(record.owner, record.task.id, record.version, self._task_store.clock(), subscription.config.id)
        await self._queue.send(job, delay_seconds)


def _request_headers(subscription: PushSubscription) -> dict[str, str]:
    headers = {"Content-Type": "application/json" if subscription.uses_v0_3 else "application/a2a+json"}
    if subscription.config.token:
        headers["X-A2A-Notification-Token"] = subscription.config.token
    authentication = subscription.config.authentication
    if authentication.scheme and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers
