"""The invariants after a run. Each check yields violations, whose texts begin with their kind."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from chaos.event_log import LogEntry
from chaos.sample_agent import ONCE_ONLY_TOOLS
from chaos.scenarios import TERMINAL_STATES, Scenario
from chaos.stored_tasks import StoredTask

WAITING_STATE = "INPUT_REQUIRED"
INTERNAL_ERROR_TEXT = "failed with an internal error"


def check_task(task: StoredTask) -> Iterator[str]:
    if task.state not in TERMINAL_STATES and task.state != WAITING_STATE:
        yield f"lost: it is {task.state}"
    if task.head["held"]["BOOL"]:
        yield "lease: it is still held"
    version = int(task.head["version"]["N"])
    if task.events != [f"event#{number:012d}" for number in range(1, version + 1)]:
        yield f"events: at version {version} there are {task.events}"
    if task.state == "FAILED" and INTERNAL_ERROR_TEXT in json.dumps(task.task["status"]):
        yield f"broken: {task.task['status']['message']}"
    yield from _check_writes(task)
    yield from _check_turns(task)
    yield from _check_model_calls(task)


def _check_writes(task: StoredTask) -> Iterator[str]:
    """Writes are in order, none overwrites another, and none comes after the end."""
    before: LogEntry = {"version": 0, "run": 0, "turns": 0, "state": ""}
    for write in task.writes:
        if write["replaced"]:
            yield f"doubled: {write['replaced']} was written again by run {write['run']}"
        if before["state"].removeprefix("TASK_STATE_") in TERMINAL_STATES:
            yield f"not final: run {write['run']} wrote {write['wrote']} after {before['state']}"
        if any(int(write[name]) < int(before[name]) for name in ("version", "run", "turns")):
            yield f"order: {write} came after {before}"
        before = write


def _check_turns(task: StoredTask) -> Iterator[str]:
    """Turns have no gaps, follow the plan, and have one result per call."""
    count = int(task.head["turns"]["N"])
    if list(task.turns) != [f"turn#{number:06d}" for number in range(count)]:
        yield f"lost: of {count} turns there are {list(task.turns)}"
        return
    spoken = [turn for turn in task.turns.values() if turn.role == "assistant"]
    planned = [[name for name, _ in step] for step in task.steps] + [[]]
    if [[call.name for call in turn.tool_calls] for turn in spoken] != planned[: len(spoken)]:
        yield f"doubled: planned {planned}, spoken {[[call.name for call in turn.tool_calls] for turn in spoken]}"
    calls = [call.id for turn in spoken for call in turn.tool_calls]
    answers = Counter(turn.tool_call_id for turn in task.turns.values() if turn.role == "tool")
    if twice := [call for call, times in answers.items() if times > 1 or call not in calls]:
        yield f"doubled: answers to {twice}"
    if task.state == "COMPLETED" and (len(spoken) != len(planned) or set(calls) != set(answers)):
        yield f"lost: completed after {len(spoken)} of {len(planned)} turns, {len(answers)} of {len(calls)} answers"


def _check_model_calls(task: StoredTask) -> Iterator[str]:
    """No run asks the model for a turn that was saved before."""
    saved = {int(sk[5:]): write for write in task.writes for sk in write["wrote"] if sk.startswith("turn#")}
    for ask in task.model_calls:
        write = saved.get(ask["turn"])
        if write is None:
            continue
        own = int(write["run"]) == ask["run"] and write["at"] < ask["at"]
        if int(write["run"]) < ask["run"] or own:
            yield f"doubled: run {ask['run']} asked for turn {ask['turn']}, which run {write['run']} had saved"


def check_effects(tasks: Mapping[str, StoredTask], event_log: list[LogEntry]) -> Iterator[tuple[str, str]]:
    """Yields task and violation. Reported effects happened; effects that must not repeat did not."""
    happened = Counter(line["key"] for line in event_log if line["kind"] == "effect")
    once = {line["key"] for line in event_log if line["kind"] == "effect" and line["tool"] in ONCE_ONLY_TOOLS}
    for key in sorted(once):
        if happened[key] > 1:
            yield key.split(":")[0], f"doubled: the effect {key} happened {happened[key]} times"
    for task in tasks.values():
        for turn in task.turns.values():
            told = turn.text in ("seen", "paid", "booked", "rested") or turn.text.startswith("drawn")
            if turn.role == "tool" and told and not happened[f"{task.id}:{turn.tool_call_id}"]:
                yield task.id, f"lost: {turn.tool_call_id} was told done and never happened"


def check_scenario(scenario: Scenario, tasks: Mapping[str, StoredTask]) -> Iterator[str]:
    """What the reader saw is what the table holds, and did not change after it was seen."""
    yield from scenario.violations
    for message, ids in scenario.tasks_by_message.items():
        if len(ids) > 1:
            yield f"doubled: message {message} made {ids}"
    task = tasks.get(scenario.task_id)
    if task is None:
        if scenario.task_id:
            yield "lost: it is not in the table"
        return
    seen = {json.dumps([told["status"], told.get("history")], sort_keys=True) for told in scenario.seen_final}
    final = {(str(told["status"]["state"]), told["status"].get("timestamp")) for told in scenario.seen_final}
    now = (str(task.task["status"]["state"]), task.task["status"].get("timestamp"))
    if len(seen) > 1 or final - {now}:
        yield f"not final: the reader saw {final}, the table has {now}"
    if scenario.cancelled and task.state != "CANCELED":
        yield f"not final: cancelled, and now {task.state}"


def check_messages(tasks: Mapping[str, StoredTask]) -> Iterator[tuple[str, str]]:
    """Yields task and violation: each message has one task."""
    owners: dict[str, set[str]] = defaultdict(set)
    for task in tasks.values():
        for message in task.task.get("history", []):
            if message.get("role") == "ROLE_USER":
                owners[message["messageId"]].add(task.id)
    for message, ids in owners.items():
        if len(ids) > 1:
            yield min(ids), f"doubled: message {message} has the tasks {ids}"
