"""a2a-testbed against an agent, in its own environment: `python testbed.py URL 1.0|0.3` prints its report in JSON.

Release 0.3.0a3 sends JSON-RPC to a path of its own; here it goes where the card says.
"""

import json
import sys
import urllib.request
from urllib.parse import urlsplit

from a2a_testbed.cli.main import app  # type: ignore[import-not-found]
from a2a_testbed.transport.a2a_transport import A2ATransport  # type: ignore[import-not-found]

OPTIONS = ("--push-receiver", "local", "--baseline", "none", "--format", "json")


def main() -> None:
    url, version = sys.argv[1:]
    with urllib.request.urlopen(f"{url}/.well-known/agent-card.json") as answer:
        faces = json.load(answer)["supportedInterfaces"]
    address = next(face["url"] for face in faces if face["protocolBinding"] == "JSONRPC")
    A2ATransport.rpc_endpoint_path = lambda _: urlsplit(address).path or "/"
    sys.argv = ["a2a-testbed", "conformance", url, *OPTIONS, "--protocol-version", version]
    app()


if __name__ == "__main__":
    main()
