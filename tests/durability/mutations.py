"""Mutation tests: removes each mechanism from a copy of agentfn and expects a test to fail.

    python tests/durability/mutations.py [part of a name ...]

If no test fails without a mechanism, no test would notice when a change breaks it: the script exits with 1.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "agentfn"
AT_ONCE = 2


@dataclass(frozen=True)
class Mutation:
    """A change that removes a mechanism: `old`, once in `file`, becomes `new`. `test` selects tests that must fail."""

    mechanism: str
    file: str
    old: str
    new: str
    path: str
    test: str

    @property
    def source(self) -> str:
        return (PACKAGE / self.file).read_text()

    def fits(self) -> bool:
        return self.source.count(self.old) == 1


DYING = "tests/durability/test_crashes.py"
TOOLS = "tests/durability/test_tool_crashes.py"
MUTATIONS = (
    Mutation(
        "lease check",
        "runs/runner.py",
        "if record.is_leased_at(self.task_store.clock()):",
        "if False:",
        "tests/event_sources/test_sqs.py",
        "test_a_message_that_meets_a_lease_waits_until_it_ends",
    ),
    Mutation(
        "fencing: version, run and turns in every write's condition",
        "store/transactions.py",
        'UNCHANGED_CONDITION = "',
        'UNCHANGED_CONDITION = "attribute_exists(pk) OR ',
        DYING,
        "test_a_run_that_was_frozen_past_its_lease_is_refused_when_it_wakes",
    ),
    Mutation(
        "fencing: whether it is held",
        "store/transactions.py",
        " AND #held = :held_read",
        " AND (#held = :held_read OR attribute_exists(pk))",
        "tests/durability/test_fencing.py",
        "test_whoever_takes_a_task_that_its_late_holder_lets_go_of_meanwhile_has_to_look_again",
    ),
    Mutation(
        "insurance message",
        "a2a/send_message.py",
        "await self._runner.enqueue_run(continuation,",
        "(message,",
        DYING,
        "test_a_blocking_send_that_dies_once_its_task_is_there_is_taken_up_again and queue",
    ),
    Mutation(
        "sweep",
        "runs/sweep.py",
        "in await self.task_store.find_abandoned(now - ABANDONED_AFTER_SECONDS, MAX_SWEPT_COUNT):",
        "in ():",
        DYING,
        "test_a_run_of_the_queue_that_dies_is_followed_by_another and sweep",
    ),
    Mutation(
        "dead letters end their task",
        "runs/sweep.py",
        "await self.dead_letters.read(MAX_SWEPT_COUNT) if self.dead_letters else ()",
        "()",
        "tests/runs/test_sweep.py",
        "test_the_task_of_a_dead_letter_ends_and_says_why_and_the_letter_stays",
    ),
    Mutation(
        "message-id record",
        "store/transactions.py",
        "*(put_message(record, message, now) for message in messages),",
        "",
        DYING,
        "test_a_send_that_died_can_be_sent_again_and_is_one_task",
    ),
    Mutation(
        "Idempotency-Key",
        "a2a/inbound_message.py",
        '*([f"key:{self.idempotency_key}"] if self.idempotency_key else [])',
        "",
        "tests/a2a/test_idempotency_key.py",
        "test_the_same_key_with_a_new_message_id_is_the_same_task",
    ),
    Mutation(
        "terminal guard",
        "store/dynamo_task_store.py",
        "if record.is_terminal:",
        "if False:",
        "tests/durability/test_fencing.py",
        "test_a_task_that_has_ended_is_never_written_to",
    ),
    Mutation(
        "the model's turn is saved before its tools start",
        "loop/loop_events.py",
        "return self.runs_tools",
        "return False",
        TOOLS,
        "test_a_tool_with_effects_is_not_called_again",
    ),
    Mutation(
        "outcome unknown",
        "loop/tool_calls/pending_call.py",
        "if self.interrupted and not self.tool.idempotent:",
        "if False:",
        TOOLS,
        "test_a_tool_with_effects_is_not_called_again",
    ),
    Mutation(
        "visibility follows the lease",
        "runs/journal.py",
        "await self.queue.set_visibility(self.receipt_handle,",
        "(self.receipt_handle,",
        "tests/event_sources/test_sqs.py",
        "test_a_run_hides_its_message_only_as_long_as_its_lease",
    ),
    Mutation(
        "runs that get nowhere are counted",
        "runs/runner.py",
        "if record.idle_runs > self.settings.run.max_idle_runs:",
        "if False:",
        DYING,
        "test_a_task_whose_every_run_dies_ends_failed_and_says_why and queue",
    ),
    Mutation(
        "the watcher sees a cancel",
        "runs/runner.py",
        "if await journal.is_superseded():",
        "if False:",
        "tests/durability/test_cancel_watch.py",
        "test_a_run_with_all_the_time_in_the_world_sees_a_cancel_in_the_middle_of_a_model_call",
    ),
)


def caught(mutation: Mutation) -> str:
    """The name of the first test that failed without the mechanism, '' if none did."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "agentfn"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / mutation.file).write_text(mutation.source.replace(mutation.old, mutation.new))
        run = _pytest(folder, mutation)
    if run.returncode not in (0, 1):  # 1 is pytest's code for tests that failed, and nothing else is
        raise RuntimeError(f"{mutation.mechanism}: the tests could not be run\n{run.stdout}{run.stderr}")
    failed = [line.split("::")[-1].split(" - ")[0] for line in run.stdout.splitlines() if line.startswith("FAILED ")]
    return failed[0] if failed else ""


def _pytest(folder: str, mutation: Mutation) -> subprocess.CompletedProcess[str]:
    """Runs the tests up to the first failure, and asserts that they import the copy."""
    run = (
        "import importlib.util, pytest, sys; "
        f"assert importlib.util.find_spec('agentfn').origin.startswith({folder!r}); "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = ["-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rf"]
    command = [sys.executable, "-c", run, *options, mutation.path, "-k", mutation.test]
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


def main() -> None:
    wanted = [one for one in MUTATIONS if not sys.argv[1:] or any(part in one.mechanism for part in sys.argv[1:])]
    stale = [one.mechanism for one in wanted if not one.fits()]
    if stale:
        sys.exit(f"no longer found in the code, once: {', '.join(stale)}")
    width = max(len(one.mechanism) for one in wanted)
    _say(f"{'without':{width}}   caught by")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        names = list(pool.map(caught, wanted))
    for mutation, name in zip(wanted, names, strict=True):
        _say(f"{mutation.mechanism:{width}}   {name or 'NOTHING: nobody would miss it'}")
    sys.exit(0 if all(names) else 1)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
