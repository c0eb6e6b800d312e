"""Serves the suites' agent on 127.0.0.1 until Ctrl-C: `python -m tests.conformance.serve --port 9000`."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from agentfn.local.local_agent import LocalAgent

PROFILES = {
    "full": {"AGENTFN_STREAMING": "true", "AGENTFN_PUSH": "true"},
    "minimal": {"AGENTFN_STREAMING": "false", "AGENTFN_PUSH": "false"},
}


def served(port: int, profile: str) -> LocalAgent:
    """The agent, open to everyone who reaches this machine's loopback, where its webhooks may go too."""
    environment = {**PROFILES[profile], "AGENTFN_FETCH_LOOPBACK": "true", "AGENT_MODEL": "none"}
    return LocalAgent(Path(__file__).with_name("agent"), environment=environment, port=port, anonymous=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--profile", choices=PROFILES, default="full")
    given = arguments.parse_args()
    stopped = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.set())
    with served(given.port, given.profile) as agent:
        sys.stdout.write(f"{agent.agent.name} is served at {agent.url}\n")
        sys.stdout.flush()
        stopped.wait()


if __name__ == "__main__":
    main()
