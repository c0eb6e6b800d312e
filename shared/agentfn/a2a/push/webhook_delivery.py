"""Delivers a task's events to those who want to be told: from the log, in order, at least once."""

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
INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 5.0, 900.0  # seconds between tries
CLAIM_SECONDS = 60.0  # seconds that one delivery is another's business
STATUS_GONE = 410  # the subscriber's own word that he wants no more


class WebhookDelivery:
    """`notary` signs what is sent; without one nothing is signed."""

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

    async def deliver(self, message: PushJob, deadline: Deadline) -> None:
        """Whatever the subscribers of that task were not told yet. What fails is tried again, later and later."""
        head = await self._task_store.read(message.owner, message.task_id)
        if head is None or head.version < message.version:
            if message.is_recent(self._task_store.clock()):
                await self._queue.send(message, RECHECK_DELAY_SECONDS)
            return
        pushes = await self._push_store.list_all(head)
        wanted = [push for push in pushes if not push.has_failed and message.config_id in ("", push.config.id)]
        await asyncio.gather(*(self._deliver_to(head, push, deadline) for push in wanted))

    async def _deliver_to(self, head: TaskRecord, push: PushSubscription, deadline: Deadline) -> None:
        if not await self._push_store.claim(head, push, self._task_store.clock() + CLAIM_SECONDS):
            await self._enqueue_retry(
                head, push, INITIAL_BACKOFF_SECONDS
            )  # somebody else is at it: look once more when he is done
            return
        push = await self._push_store.get(head, push.config.id) or push  # as the one before has left it
        while events := await self._task_store.read_events(head.owner, head.task.id, after=push.delivered_version):
            for version, told in events:
                if deadline.passed:
                    await self._push_store.save_progress(head, push)
                    await self._enqueue_retry(head, push, 0.0)
                    return
                status = await self._post_events(head, push, told)
                if not 200 <= status < 300:
                    await self._record_failure(head, push, status)
                    return
                push = mark_delivered(push, version)
                if not await self._push_store.save_progress(
                    head, push, busy_until=self._task_store.clock() + CLAIM_SECONDS
                ):
                    return  # he was deleted
        await self._push_store.save_progress(head, push)

    async def _post_events(self, head: TaskRecord, push: PushSubscription, told: Sequence[StreamResponse]) -> int:
        """The status that the last of them was answered with; 0 where there was no answer."""
        for said in await self._event_bodies(head, push, told):
            body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
            try:
                headers = _request_headers(push) | await self._signature_headers(push, body)
                status = await self._webhook_client.post(push.config.url, body, headers)
            except (FileRejected, ConfigurationError) as error:
                logger.warning("a webhook could not be told: %s", error, task_id=head.task.id)
                status = 0
            if not 200 <= status < 300:
                return status
        return 200

    async def _signature_headers(self, push: PushSubscription, body: bytes) -> dict[str, str]:
        """Also as the bearer token, for a subscriber who asks for one and brings none of his own."""
        if self._signer is None:
            return {}
        issuer = push.agent_url or self._agent_name
        token = await self._signer.sign(issuer, push.config.url, push.config.task_id, body)
        theirs = push.config.authentication
        bearer = theirs.scheme.lower() == "bearer" and not theirs.credentials
        return {SIGNATURE_HEADER: token, **({"Authorization": f"Bearer {token}"} if bearer else {})}

    async def _event_bodies(
        self, head: TaskRecord, push: PushSubscription, told: Sequence[StreamResponse]
    ) -> list[Any]:
        """What is sent: the events themselves; an old subscriber gets the task as it is now."""
        if push.uses_v0_3:
            now = await self._task_store.read(head.owner, head.task.id) or head
            old = conversions.to_compat_task(presign_task(now.task, self._bucket, push.agent_url))
            return [decode_numbers(old.model_dump(mode="json", by_alias=True, exclude_none=True))]
        presigned = [presign_event(response, self._bucket, push.agent_url) for response in told]
        return [decode_numbers(MessageToDict(to_stream_response(event))) for event in presigned]

    async def _record_failure(self, head: TaskRecord, push: PushSubscription, status: int) -> None:
        tries = push.failures + 1
        failed = tries >= MAX_ATTEMPTS or status == STATUS_GONE
        push = dataclasses.replace(push, failures=tries, has_failed=failed)
        await self._push_store.save_progress(head, push)
        if failed:
            logger.warning("a webhook is given up", task_id=head.task.id, status=status, tries=tries)
            return
        await self._enqueue_retry(head, push, min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** (tries - 1)))

    async def _enqueue_retry(self, head: TaskRecord, push: PushSubscription, delay: float) -> None:
        now = self._task_store.clock()
        message = PushJob(head.owner, head.task.id, head.version, now, push.config.id)
        await self._queue.send(message, delay)


def _request_headers(push: PushSubscription) -> dict[str, str]:
    headers = {"Content-Type": "application/json" if push.uses_v0_3 else "application/a2a+json"}
    if push.config.token:
        headers["X-A2A-Notification-Token"] = push.config.token
    authentication = push.config.authentication
    if authentication.scheme and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers
