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

from agentfn.a2a.card.card_builder.card_signature import NOTICE_HEADER, Notary
from agentfn.a2a.file_links import agent_address
from agentfn.a2a.outbound_task import signed, signed_event
from agentfn.a2a.push.push_configs import Poster
from agentfn.deadline import Deadline
from agentfn.errors import ConfigurationError, FileRefused
from agentfn.json_numbers import exact
from agentfn.runs.runner import Runner
from agentfn.runs.work_queue import RECHECK_DELAY_SECONDS, PushJob
from agentfn.store import Head
from agentfn.store.push_store import Push, Pushes, delivered
from agentfn.telemetry import logger

TRIES = 8
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 900.0  # seconds between tries
CLAIM = 60.0  # seconds that one delivery is another's business
GONE = 410  # the subscriber's own word that he wants no more


class Delivering:
    """`notary` signs what is sent; without one nothing is signed."""

    def __init__(self, runner: Runner, pushes: Pushes, poster: Poster, notary: Notary | None = None) -> None:
        self._runner = runner
        self._tasks = runner.tasks
        self._pushes = pushes
        self._poster = poster
        self._notary = notary

    async def deliver(self, message: PushJob, deadline: Deadline) -> None:
        """Whatever the subscribers of that task were not told yet. What fails is tried again, later and later."""
        head = await self._tasks.read(message.owner, message.task_id)
        if head is None or head.version < message.version:
            if message.is_recent(self._tasks.clock()):
                await self._runner.queue.send(message, RECHECK_DELAY_SECONDS)
            return
        pushes = await self._pushes.all(head)
        wanted = [push for push in pushes if not push.failed and message.config_id in ("", push.config.id)]
        await asyncio.gather(*(self._one(head, push, deadline) for push in wanted))

    async def _one(self, head: Head, push: Push, deadline: Deadline) -> None:
        if not await self._pushes.claim(head, push, self._tasks.clock() + CLAIM):
            await self._again(head, push, FIRST_PAUSE)  # somebody else is at it: look once more when he is done
            return
        push = await self._pushes.get(head, push.config.id) or push  # as the one before has left it
        while events := await self._tasks.events(head.owner, head.task.id, after=push.sent):
            for version, told in events:
                if deadline.passed:
                    await self._pushes.keep(head, push)
                    await self._again(head, push, 0.0)
                    return
                status = await self._told(head, push, told)
                if not 200 <= status < 300:
                    await self._failed(head, push, status)
                    return
                push = delivered(push, version)
                if not await self._pushes.keep(head, push, busy_until=self._tasks.clock() + CLAIM):
                    return  # he was deleted
        await self._pushes.keep(head, push)

    async def _told(self, head: Head, push: Push, told: Sequence[StreamResponse]) -> int:
        """The status that the last of them was answered with; 0 where there was no answer."""
        for said in await self._bodies(head, push, told):
            body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
            try:
                headers = _headers(push) | await self._signature(push, body)
                status = await self._poster.post(push.config.url, body, headers)
            except (FileRefused, ConfigurationError) as error:
                logger.warning("a webhook could not be told: %s", error, task_id=head.task.id)
                status = 0
            if not 200 <= status < 300:
                return status
        return 200

    async def _signature(self, push: Push, body: bytes) -> dict[str, str]:
        """Also as the bearer token, for a subscriber who asks for one and brings none of his own."""
        if self._notary is None:
            return {}
        issuer = push.address or self._runner.agent.name
        token = await self._notary.notice(issuer, push.config.url, push.config.task_id, body)
        theirs = push.config.authentication
        bearer = theirs.scheme.lower() == "bearer" and not theirs.credentials
        return {NOTICE_HEADER: token, **({"Authorization": f"Bearer {token}"} if bearer else {})}

    async def _bodies(self, head: Head, push: Push, told: Sequence[StreamResponse]) -> list[Any]:
        """What is sent: the events themselves; an old subscriber gets the task as it is now."""
        bucket = self._runner.bucket
        agent_address.set(push.address)
        if push.old:
            now = await self._tasks.read(head.owner, head.task.id) or head
            old = conversions.to_compat_task(signed(now.task, bucket))
            return [exact(old.model_dump(mode="json", by_alias=True, exclude_none=True))]
        return [exact(MessageToDict(to_stream_response(signed_event(response, bucket)))) for response in told]

    async def _failed(self, head: Head, push: Push, status: int) -> None:
        tries = push.tries + 1
        failed = tries >= TRIES or status == GONE
        push = dataclasses.replace(push, tries=tries, failed=failed)
        await self._pushes.keep(head, push)
        if failed:
            logger.warning("a webhook is given up", task_id=head.task.id, status=status, tries=tries)
            return
        await self._again(head, push, min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1)))

    async def _again(self, head: Head, push: Push, delay: float) -> None:
        now = self._tasks.clock()
        message = PushJob(head.owner, head.task.id, head.version, now, push.config.id)
        await self._runner.queue.send(message, delay)


def _headers(push: Push) -> dict[str, str]:
    headers = {"Content-Type": "application/json" if push.old else "application/a2a+json"}
    if push.config.token:
        headers["X-A2A-Notification-Token"] = push.config.token
    authentication = push.config.authentication
    if authentication.scheme and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers
