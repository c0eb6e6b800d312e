"""Run inside a built package: asks each provider through agentfn's LiteLLMModel, and prints what came, as JSON.

The arguments are the model, its address and its key. The provider answers with a text, a call, both as streams, and
two failures.
"""

import asyncio
import json
import sys
from typing import Any

from agentfn.models import Model, ModelRequest, ModelResponse, Turn
from agentfn.models.providers.litellm_internals import close_litellm
from agentfn.models.providers.litellm_model import LiteLLMModel

TOOL: dict[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
PROMPT = ModelRequest("Be brief.", (Turn("user", "Where is Paris?"),), ({"type": "function", "function": TOOL},))


async def failure(model: Model) -> str:
    try:
        await model.generate(PROMPT)
    except Exception as error:  # noqa: BLE001 - its class is what is asked for
        return type(error).__name__
    return ""


async def main(name: str, base: str, key: str) -> dict[str, Any]:
    model = LiteLLMModel(name, api_key=lambda: key or None, base_url=base)
    whole = [await model.generate(PROMPT), await model.generate(PROMPT)]
    pieces = [[piece async for piece in model.stream(PROMPT)] for _ in range(2)]
    streamed = [reply for *_, reply in pieces if isinstance(reply, ModelResponse)]
    result = {
        "texts": [reply.text for reply in [*whole, *streamed]],
        "calls": [[call.name for call in reply.tool_calls] for reply in [*whole, *streamed]],
        "tokens": whole[0].usage.total_tokens,
        "priced": whole[0].usage.cost is not None and whole[0].usage.cost > 0,
        "calls_tools": await model.supports_tool_calls(),
        "failures": [await failure(model), await failure(model)],
    }
    await close_litellm()
    return result


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))  # noqa: T201
