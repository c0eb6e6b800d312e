"""API Gateway's own limits and names: when it gives up, after 29 seconds if nothing else is said, and the domain."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ministack.core.responses import get_region
from ministack.services import apigateway_v1 as gateway

SECONDS = 29.0


def put_in() -> None:
    build, invoke = gateway._build_lambda_event_v1, gateway._invoke_lambda_proxy_v1
    running: set[asyncio.Task[Any]] = set()

    def build_with_domain(api_id: str, *arguments: Any, **named: Any) -> Any:
        event = build(api_id, *arguments, **named)
        domain = f"{api_id}.execute-api.{get_region()}.amazonaws.com"
        event["requestContext"] |= {"domainName": domain, "domainPrefix": api_id}
        return event

    async def invoke_within_limit(integration: dict[str, Any], *arguments: Any, **named: Any) -> Any:
        call = asyncio.ensure_future(invoke(integration, *arguments, **named))
        running.add(call)
        call.add_done_callback(running.discard)
        done, _ = await asyncio.wait({call}, timeout=int(integration.get("timeoutInMillis") or SECONDS * 1000) / 1000)
        if done:
            return call.result()
        # As on AWS the function runs on, unheard.
        return 504, {"Content-Type": "application/json"}, json.dumps({"message": "Endpoint request timed out"}).encode()

    gateway._build_lambda_event_v1 = build_with_domain
    gateway._invoke_lambda_proxy_v1 = invoke_within_limit
