"""The keys of the one table.

Every partition, in the table and in its indexes, starts with the agent's name: a role can be limited to its agent by
`dynamodb:LeadingKeys`. The owner comes second, so another caller's task does not exist for him.
"""

TASK_SORT_KEY = "head"
TURN_PREFIX = "turn#"
EVENT_PREFIX = "event#"
MESSAGE_SORT_KEY = "message"
PUSH_PREFIX = "push#"


def task_partition(agent: str, owner: str, task_id: str) -> str:
    return f"{agent}#{owner}#{task_id}"


def message_partition(agent: str, owner: str, message_id: str) -> str:
    return f"{agent}#{owner}#msg#{message_id}"


def turn_sort_key(number: int) -> str:
    return f"{TURN_PREFIX}{number:06d}"


def event_sort_key(version: int) -> str:
    return f"{EVENT_PREFIX}{version:012d}"


def push_sort_key(config_id: str) -> str:
    return f"{PUSH_PREFIX}{config_id}"


def parse_event_version(sk: str) -> int:
    """What `event` made a key of."""
    return int(sk.removeprefix(EVENT_PREFIX))


def owner_partition(agent: str, owner: str) -> str:
    """Partition of the index by owner."""
    return f"{agent}#{owner}"


def context_partition(agent: str, owner: str, context_id: str) -> str:
    """Partition of the index by context."""
    return f"{agent}#{owner}#{context_id}"


def open_tasks_partition(agent: str) -> str:
    """Partition of the index of open tasks."""
    return f"{agent}#open"


def parse_task_partition(pk: str) -> tuple[str, str]:
    """What `task` made a key of."""
    _, rest = pk.split("#", 1)
    owner, task_id = rest.rsplit("#", 1)
    return owner, task_id
