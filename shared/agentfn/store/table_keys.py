"""The keys of the DynamoDB table and of its indexes.

Every partition key starts with the agent's name, so that an IAM policy can limit a role to its own agent with
`dynamodb:LeadingKeys`. The owner comes second, so that no caller can name the task of another one.
"""

TASK_SORT_KEY = "head"
MESSAGE_SORT_KEY = "message"
TURN_PREFIX = "turn#"
EVENT_PREFIX = "event#"
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


def parse_event_version(sort_key: str) -> int:
    """The inverse of `event_sort_key`."""
    return int(sort_key.removeprefix(EVENT_PREFIX))


def owner_partition(agent: str, owner: str) -> str:
    """Partition key of the index `by_owner`."""
    return f"{agent}#{owner}"


def context_partition(agent: str, owner: str, context_id: str) -> str:
    """Partition key of the index `by_context`."""
    return f"{agent}#{owner}#{context_id}"


def open_tasks_partition(agent: str) -> str:
    """Partition key of the index `open`, which has the tasks that are neither ended nor waiting for input."""
    return f"{agent}#open"


def parse_task_partition(partition_key: str) -> tuple[str, str]:
    """The owner and the task's id: the inverse of `task_partition`."""
    _, rest = partition_key.split("#", 1)
    owner, task_id = rest.rsplit("#", 1)
    return owner, task_id
