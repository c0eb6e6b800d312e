"""The sdk's interface of push configs: what its own in-memory store promises, on the push store."""

import asyncio
from typing import Any

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import TaskNotFoundError

from agentfn.auth.identity import Principal
from agentfn.store.sdk import SdkPushConfigStore

ALICE, BOB = (ServerCallContext(user=Principal(name)) for name in ("alice", "bob"))


@pytest.fixture
def store(world: Any) -> SdkPushConfigStore:
    world.created()
    return SdkPushConfigStore(world.tasks, "alice")


def config(config_id: str = "", url: str = "https://example.com/hook") -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(id=config_id, url=url)


def configs(store: SdkPushConfigStore, context: ServerCallContext = ALICE) -> dict[str, str]:
    return {found.id: found.url for found in asyncio.run(store.get_info("t1", context))}


def test_a_config_is_stored_with_its_ids_and_the_callers_own_is_not_changed(store: SdkPushConfigStore) -> None:
    given = config()
    stored = asyncio.run(store.set_info("t1", given, ALICE))
    assert (stored.id, stored.task_id, given.id) == ("t1", "t1", "")
    assert asyncio.run(store.get_info("t1", ALICE)) == [stored]


def test_a_config_with_an_id_that_is_stored_replaces_it(store: SdkPushConfigStore) -> None:
    for url in ("https://example.com/1", "https://example.com/2"):
        asyncio.run(store.set_info("t1", config("a", url), ALICE))
    assert configs(store) == {"a": "https://example.com/2"}


def test_saves_after_it_know_that_they_have_a_subscriber(store: SdkPushConfigStore, world: Any) -> None:
    assert not world.read().has_push
    asyncio.run(store.set_info("t1", config(), ALICE))
    assert world.read().has_push


def test_one_config_is_deleted_or_all_of_them(store: SdkPushConfigStore) -> None:
    for config_id in ("a", "b", "c"):
        asyncio.run(store.set_info("t1", config(config_id), ALICE))
    asyncio.run(store.delete_info("t1", ALICE, "b"))
    assert sorted(configs(store)) == ["a", "c"]
    asyncio.run(store.delete_info("t1", ALICE, "b"))
    asyncio.run(store.delete_info("t1", ALICE))
    assert configs(store) == {}


def test_another_caller_sees_and_changes_nothing(store: SdkPushConfigStore) -> None:
    asyncio.run(store.set_info("t1", config("a"), ALICE))
    assert configs(store, BOB) == {}
    asyncio.run(store.delete_info("t1", BOB))
    with pytest.raises(TaskNotFoundError):
        asyncio.run(store.set_info("t1", config("b"), BOB))
    assert list(configs(store)) == ["a"]


def test_for_dispatch_the_task_is_that_of_the_owner_the_store_was_made_for(
    store: SdkPushConfigStore, world: Any
) -> None:
    asyncio.run(store.set_info("t1", config("a"), ALICE))
    assert [found.id for found in asyncio.run(store.get_info_for_dispatch("t1"))] == ["a"]
    assert asyncio.run(SdkPushConfigStore(world.tasks, "bob").get_info_for_dispatch("t1")) == []
