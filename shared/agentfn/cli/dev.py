"""`agentfn dev`: runs an agent locally until it is stopped."""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agentfn.cli.logs import readable_logs
from agentfn.cli.terminal import PrintLine, command_name


def run_dev(
    folder: Path, show: PrintLine, *, environment: Mapping[str, str], port: int = 0, seconds: float = 900.0
) -> int:
    from agentfn.local.local_agent import LocalAgent

    local = LocalAgent(folder, environment=environment, port=port, seconds=seconds)
    with readable_logs(logging.INFO), interruptible(), local:
        show(f"{local.agent.name} runs at {local.url}")
        show(f"Its card: {local.url}/.well-known/agent-card.json")
        show("Its AWS is in this process: what it stores is gone when it stops. To ask it something:\n")
        show(f"  export AGENTFN_TOKEN={local.token}")
        show(f'  {command_name()} send {local.url} "your question" --file table.csv\n')
        show("Ctrl-C stops it.")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
        show("\nStopping.")
    return 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt for Ctrl-C and SIGTERM, also in a process that a shell started in the background."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
