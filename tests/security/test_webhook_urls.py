"""Where a webhook may be: what leads inward is refused at once, what leads nowhere is left to its deliveries."""

import asyncio
from typing import Any

import pytest
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError

from agentfn.a2a.push.push_configs import PushConfigService
from agentfn.fetch import Fetcher
from security.test_blocked_addresses import FORBIDDEN
from support.resolvers import HOST_ADDRESSES, resolver_for

NOWHERE = ["http://no-such-name.test/", "https://no-such-name.test:8443/hook", "http://empty.test/"]
NOBODY: Any = None


def checked(url: str, *hosts: str) -> None:
    pushing = PushConfigService(NOBODY, NOBODY, NOBODY, Fetcher(hosts=hosts, resolver=resolver_for(HOST_ADDRESSES)))
    asyncio.run(pushing.validate(TaskPushNotificationConfig(url=url), "task"))


@pytest.mark.parametrize("url", NOWHERE)
def test_a_webhook_under_a_name_that_leads_nowhere_is_taken(url: str) -> None:
    checked(url)


@pytest.mark.parametrize("url", [url for url in FORBIDDEN if url not in NOWHERE])
def test_a_webhook_that_leads_inward_is_refused(url: str) -> None:
    with pytest.raises(InvalidParamsError):
        checked(url)


def test_a_list_of_hosts_holds_for_names_that_lead_nowhere() -> None:
    checked(NOWHERE[0], "no-such-name.test")
    with pytest.raises(InvalidParamsError, match="AGENTFN_FETCH_HOSTS"):
        checked(NOWHERE[0], "example.com")


def test_a_name_that_never_resolves_is_taken_soon_enough() -> None:
    async def silent(_: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    pushing = PushConfigService(NOBODY, NOBODY, NOBODY, Fetcher(resolver=silent), lookup_seconds=0.01)
    asyncio.run(pushing.validate(TaskPushNotificationConfig(url="http://slow.test/"), "task"))
