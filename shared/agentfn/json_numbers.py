"""Numbers as they were sent.

Data parts and metadata travel, and are kept, in protobuf's Struct, which knows doubles only: there, 3.0 is 3, and whole
numbers above 2**53 lose digits. A number that would not come out as it went in is carried as a string.
"""

import json
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

FREE = frozenset({"data", "metadata"})  # members whose value is the sender's own JSON
MARK = "\uf8ffjson:"  # begins a carried string; JSON text follows
LARGEST = 2**53  # of the whole numbers that a double tells from their neighbours


def carried(value: Any, free: bool = False) -> Any:
    """A request's JSON, as protobuf may have it. `free` says that the value is within the sender's own JSON."""
    match value:
        case dict():
            return {name: carried(item, free or name in FREE) for name, item in value.items()}
        case list():
            return [carried(item, free) for item in value]
        case _ if free and _suffers(value):
            return MARK + json.dumps(value)
    return value


def exact(value: Any, free: bool = False) -> Any:
    """What protobuf gave as JSON, with the numbers as they went in; those that we put there ourselves are whole where
    they have no fraction.
    """
    match value:
        case dict():
            return {name: exact(item, free or name in FREE) for name, item in value.items()}
        case list():
            return [exact(item, free) for item in value]
        case str() if free and value.startswith(MARK):
            return _read(value)
        case float() if free and value.is_integer() and abs(value) <= LARGEST:
            return int(value)
    return value


def plain[Proto: Message](message: Proto) -> Proto:
    """A copy with doubles in the place of carried numbers: as those expect it who know nothing of them."""
    return ParseDict(exact(MessageToDict(message)), type(message)())


def _suffers(value: Any) -> bool:
    """Whether it would come out as something else. A string that looks carried would come out as what it carries."""
    match value:
        case str():
            return value.startswith(MARK)
        case bool():
            return False
        case int():
            return abs(value) > LARGEST
        case float():
            return value.is_integer()
    return False


def _read(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(MARK))
    except ValueError:  # somebody's own string, that never came through `carried`
        return text
