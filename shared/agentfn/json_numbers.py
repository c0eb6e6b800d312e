"""Numbers as they were sent.

Data parts and metadata travel, and are kept, in protobuf's Struct, which knows doubles only: there, 3.0 is 3, and whole
numbers above 2**53 lose digits. A number that would not come out as it went in is carried as a string.
"""

import json
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

FREE_JSON_FIELDS = frozenset({"data", "metadata"})  # members whose value is the sender's own JSON
ENCODED_PREFIX = "\uf8ffjson:"  # begins a carried string; JSON text follows
MAX_EXACT_INTEGER = 2**53  # of the whole numbers that a double tells from their neighbours


def encode_numbers(value: Any, free_json: bool = False) -> Any:
    """A request's JSON, as protobuf may have it. `free` says that the value is within the sender's own JSON."""
    match value:
        case dict():
            return {name: encode_numbers(item, free_json or name in FREE_JSON_FIELDS) for name, item in value.items()}
        case list():
            return [encode_numbers(item, free_json) for item in value]
        case _ if free_json and _needs_encoding(value):
            return ENCODED_PREFIX + json.dumps(value)
    return value


def decode_numbers(value: Any, free_json: bool = False) -> Any:
    """What protobuf gave as JSON, with the numbers as they went in; those that we put there ourselves are whole where
    they have no fraction.
    """
    match value:
        case dict():
            return {name: decode_numbers(item, free_json or name in FREE_JSON_FIELDS) for name, item in value.items()}
        case list():
            return [decode_numbers(item, free_json) for item in value]
        case str() if free_json and value.startswith(ENCODED_PREFIX):
            return _decode_string(value)
        case float() if free_json and value.is_integer() and abs(value) <= MAX_EXACT_INTEGER:
            return int(value)
    return value


def decode_message[Proto: Message](message: Proto) -> Proto:
    """A copy with doubles in the place of carried numbers: as those expect it who know nothing of them."""
    return ParseDict(decode_numbers(MessageToDict(message)), type(message)())


def _needs_encoding(value: Any) -> bool:
    """Whether it would come out as something else. A string that looks carried would come out as what it carries."""
    match value:
        case str():
            return value.startswith(ENCODED_PREFIX)
        case bool():
            return False
        case int():
            return abs(value) > MAX_EXACT_INTEGER
        case float():
            return value.is_integer()
    return False


def _decode_string(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(ENCODED_PREFIX))
    except ValueError:  # somebody's own string, that never came through `carried`
        return text
