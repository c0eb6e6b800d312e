"""The keys of the one table.

Every partition, in the table and in its indexes, starts with the agent's name: a role can be limited to its agent by
`dynamodb:LeadingKeys`. The owner comes second, so another caller's task does not exist for him.
"""

HEAD = "head"
TURN = "turn#"
EVENT = "event#"
MESSAGE = "message"
PUSH = "push#"


def task(agent: str, owner: str, task_id: str) -> str:
    return f"{agent}#{owner}#{task_id}"


def message(agent: str, owner: str, message_id: str) -> str:
    return f"{agent}#{owner}#msg#{message_id}"


def turn(number: int) -> str:
    return f"{TURN}{number:06d}"


def event(version: int) -> str:
    return f"{EVENT}{version:012d}"


def push(config_id: str) -> str:
    return f"{PUSH}{config_id}"


def version_of(sk: str) -> int:
    """What `event` made a key of."""
    return int(sk.removeprefix(EVENT))


def owned(agent: str, owner: str) -> str:
    """Partition of the index by owner."""
    return f"{agent}#{owner}"


def in_context(agent: str, owner: str, context_id: str) -> str:
    """Partition of the index by context."""
    return f"{agent}#{owner}#{context_id}"


def unfinished(agent: str) -> str:
    """Partition of the index of open tasks."""
    return f"{agent}#open"


def owner_and_task(pk: str) -> tuple[str, str]:
    """What `task` made a key of."""
    _, rest = pk.split("#", 1)
    owner, task_id = rest.rsplit("#", 1)
    return owner, task_id
