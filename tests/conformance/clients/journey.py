"""What every client library goes through with the agent: the public methods of Journey, in their order.

    PYTHONPATH=tests python -m conformance.clients.v1_0 URL --transport HTTP+JSON

A line for each step, then how many passed, failed and were skipped. A step is skipped where its protocol, its transport
or its library lacks what it is about.
"""

import argparse
import asyncio
import inspect
import logging
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable

from conformance.clients.client import (
    TERMINAL_STATES,
    UNKNOWN,
    CardInfo,
    Client,
    Missing,
    OutgoingMessage,
    PushConfig,
    TaskUpdate,
)
from conformance.clients.webhook import Webhook

SECONDS = 60.0  # for a step
TRANSPORTS = ("JSONRPC", "HTTP+JSON")
WORKS = "test-resubscribe-message-id"  # for four seconds, and says so each half of one
TWO_SECONDS = "tck-delayed-complete"


class ClientJourney:
    def __init__(self, client: Client, url: str, transport: str, webhook: Webhook) -> None:
        self._client = client
        self._url = url
        self._transport = transport
        self._webhook = webhook
        self._offer: CardInfo
        self._ended: TaskUpdate  # the first task, which has ended
        self._watched: TaskUpdate  # the one that has a webhook

    async def the_card_offers_the_transport(self) -> None:
        self._offer = await self._client.meet(self._url, self._transport)
        assert self._offer.name, "the card has no name"
        assert self._transport in self._offer.transports, self._offer

    async def a_send_waits_for_the_answer(self) -> None:
        self._ended = await self._client.send(OutgoingMessage())
        assert (self._ended.kind, self._ended.state, self._ended.text) == ("task", "completed", "Hello from TCK")

    async def a_task_is_read_back(self) -> None:
        assert await self._client.get(self._ended.task) == self._ended

    async def no_history_is_given_where_none_is_wanted(self) -> None:
        if self._client.old:
            raise Missing("0.3 does not say what a length of 0 is")
        told = await self._client.get(self._ended.task, history=0)
        assert (told.state, told.history) == ("completed", 0)

    async def an_unknown_task_is_not_found(self) -> None:
        await self._refused(self._client.get("no-such-task"), "TaskNotFound")

    async def the_tasks_of_a_context_are_listed(self) -> None:
        assert await self._client.listed(self._ended.context) == [self._ended.task]

    async def a_send_that_does_not_wait_is_polled_to_its_end(self) -> None:
        told = await self._client.send(OutgoingMessage(begin=TWO_SECONDS, wait=False))
        states = [told.state]
        while told.state not in TERMINAL_STATES:
            await asyncio.sleep(0.3)
            told = await self._client.get(told.task)
            states.append(told.state)
        assert list(dict.fromkeys(states)) in (["submitted", "working", "completed"], ["working", "completed"])

    async def a_stream_begins_with_the_task_and_ends_with_its_end(self) -> None:
        self._streams()
        told = await _all(self._client.stream(OutgoingMessage(begin="tck-stream-001")))
        assert told[0].kind == "task", told
        assert (told[-1].kind, told[-1].state) == ("status", "completed"), told
        assert "artifact" in [event.kind for event in told], told

    async def events_come_as_they_happen(self) -> None:
        self._streams()
        arrivals = [time.monotonic() async for _ in self._client.stream(OutgoingMessage(begin=WORKS))]
        assert arrivals[-1] - arrivals[0] > 2.0, arrivals

    async def a_running_task_is_followed_again(self) -> None:
        self._streams()
        stream = self._client.stream(OutgoingMessage(begin=WORKS))
        task = (await anext(stream)).task
        await stream.aclose()
        told = await _all(self._client.follow(task))
        assert told[-1].state == "completed", told
        assert self._client.old or told[0].kind == "task", told

    async def an_ended_task_is_not_followed(self) -> None:
        self._streams()
        if self._client.old:
            raise Missing("0.3 leaves it open")
        await self._refused(_all(self._client.follow(self._ended.task)), "UnsupportedOperation")

    async def a_cancelled_task_stays_cancelled(self) -> None:
        task = (await self._client.send(OutgoingMessage(begin=TWO_SECONDS, wait=False))).task
        await asyncio.sleep(0.5)
        assert (await self._client.cancel(task)).state == "canceled"
        await asyncio.sleep(3.0)  # it would have ended by now
        assert (await self._client.get(task)).state == "canceled"

    async def an_ended_task_is_not_cancelled(self) -> None:
        await self._refused(self._client.cancel(self._ended.task), "TaskNotCancelable")

    async def three_turns_are_one_task(self) -> None:
        first = await self._client.send(OutgoingMessage("ask", "tck-input-required"))
        second = await self._client.send(OutgoingMessage("ask again", "tck-input-required", task=first.task))
        third = await self._client.send(OutgoingMessage("done", "tck-complete-task", task=first.task))
        assert [told.state for told in (first, second, third)] == ["input-required", "input-required", "completed"]
        assert {(told.task, told.context) for told in (second, third)} == {(first.task, first.context)}
        assert third.turns == ("ask", "ask again", "done"), third
        assert third.contexts == {first.context}, third

    async def an_ended_task_takes_no_message(self) -> None:
        await self._refused(self._client.send(OutgoingMessage(task=self._ended.task)), "UnsupportedOperation")

    async def a_webhook_is_set(self) -> None:
        """Where the card offers none, it is refused."""
        self._watched = await self._client.send(OutgoingMessage(begin=TWO_SECONDS, wait=False))
        wanted = PushConfig("mine", self._watched.task, self._webhook.url)
        if self._offer.push:
            assert await self._client.set_hook(wanted) == wanted
        else:
            await self._refused(self._client.set_hook(wanted), "PushNotificationNotSupported")

    async def a_webhook_is_read(self) -> None:
        self._pushes()
        found = await self._client.get_hook(self._watched.task, "mine")
        assert found == PushConfig("mine", self._watched.task, self._webhook.url)

    async def webhooks_are_listed(self) -> None:
        self._pushes()
        assert [hook.id for hook in await self._client.hooks(self._watched.task)] == ["mine"]

    async def a_webhook_is_deleted(self) -> None:
        self._pushes()
        await self._client.delete_hook(self._watched.task, "mine")
        assert await self._client.hooks(self._watched.task) == []

    async def a_webhook_is_told_of_the_end(self) -> None:
        """In the words of the protocol that it was set in. Where the card offers none, the message is refused."""
        said = OutgoingMessage(begin=TWO_SECONDS, wait=False, hook=self._webhook.url)
        if not self._offer.push:
            await self._refused(self._client.send(said), "PushNotificationNotSupported")
            return
        self._webhook.posts.clear()
        await self._client.send(said)
        assert await self._webhook.told("completed" if self._client.old else "COMPLETED"), self._webhook.posts
        forms = {post.get("kind") or next(iter(post)) for post in self._webhook.posts}
        assert forms <= ({"task"} if self._client.old else {"task", "statusUpdate", "artifactUpdate"}), forms
        assert self._webhook.strangers == []

    def _streams(self) -> None:
        if not self._offer.streaming:
            raise Missing("the card offers no streams")

    def _pushes(self) -> None:
        if not self._offer.push:
            raise Missing("the card offers no webhooks")

    async def _refused(self, call: Awaitable[object], reason: str) -> None:
        try:
            answer = await call
        except Exception as error:
            if self._client.reason(error) not in (reason, UNKNOWN):
                raise
        else:
            raise AssertionError(f"not refused, but answered with {answer}")


async def _all(stream: AsyncGenerator[TaskUpdate]) -> list[TaskUpdate]:
    return [told async for told in stream]


async def _gone(journey: ClientJourney) -> Counter[str]:
    counts = Counter[str]()
    for name in [name for name in vars(ClientJourney) if not name.startswith("_")]:
        outcome, note = "ok", ""
        try:
            async with asyncio.timeout(SECONDS):
                await getattr(journey, name)()
        except (Missing, NotImplementedError) as error:
            outcome, note = "skip", str(error)
        except Exception as error:  # noqa: BLE001 - a library raises what it likes
            outcome, note = "FAIL", f"{type(error).__name__}: {error} (line {inspect.trace()[-1].lineno})"
        counts[outcome] += 1
        sys.stdout.write(f"{outcome:4} {name.replace('_', ' ')}{note and ': '}{note}\n")
    return counts


def run_journey(client: Client) -> None:
    """Ends the process: with 1 where a step failed."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("--transport", choices=TRANSPORTS, default="JSONRPC")
    arguments.add_argument("--old", action="store_true", help="protocol 0.3")
    given = arguments.parse_args()
    client.old |= given.old
    logging.disable()
    with Webhook() as webhook:
        counts = asyncio.run(_gone(ClientJourney(client, given.url, given.transport, webhook)))
    sys.stdout.write(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped\n")
    sys.exit(bool(counts["FAIL"]))
