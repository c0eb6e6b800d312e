"""The AWS of a run: moto behind HTTP in its own process, which prints its address and ends with its standard input.

moto is made exact where the guarantees need it: one call at a time; a transaction repeated with its token happens
once; a failed one undoes only its own writes. Every transaction is written to the event log.
"""

import copy
import inspect
import io
import json
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from chaos.event_log import EventLog

TRANSACT_WRITE = "DynamoDB_20120810.TransactWriteItems"


class SerializedApp:
    """A WSGI application that passes one request at a time to moto's."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._done: dict[str, tuple[str, Any, bytes]] = {}  # answers, by the token of their transaction

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        token = _token(environ) if environ.get("HTTP_X_AMZ_TARGET") == TRANSACT_WRITE else ""
        with self._lock:
            answer = self._done.get(token) or self._answer(environ)
            if token and answer[0].startswith("200"):
                self._done[token] = answer
        start_response(answer[0], answer[1])
        return [answer[2]]

    def _answer(self, environ: dict[str, Any]) -> tuple[str, Any, bytes]:
        head: list[Any] = []
        body = b"".join(self._app(environ, lambda status, headers, _=None: head.extend((status, headers))))
        return head[0], head[1], body


def _token(environ: dict[str, Any]) -> str:
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    environ["wsgi.input"] = io.BytesIO(body)
    return str(json.loads(body).get("ClientRequestToken", ""))


class AtomicTransactions:
    """Replaces moto's transactions, which copy the whole table for each action to be able to restore it."""

    def __init__(self, event_log: EventLog) -> None:
        self._event_log = event_log
        self._original: Any = DynamoDBBackend.transact_write_items

    def __call__(self, backend: Any, actions: list[dict[str, Any]]) -> None:
        touched = [_item_key(action) for action in actions]
        before = [copy.deepcopy(backend.get_item(table, key)) for table, key in touched]
        try:
            self._original(backend, actions)
        except Exception:
            for (table, key), item in zip(touched, before, strict=True):
                _restore(backend.tables[table], key, item)
            raise
        self._log_writes(backend, touched, [item is not None for item in before])

    def _log_writes(self, backend: Any, touched: list[tuple[str, Any]], there: list[bool]) -> None:
        wrote = [key["sk"]["S"] for _, key in touched]
        replaced = [sk for sk, was in zip(wrote, there, strict=True) if was and sk != "head"]
        for table, key in touched:
            if key["sk"]["S"] == "head" and (item := backend.get_item(table, key)) is not None:
                plain = item.to_json()["Attributes"]
                head = {name: next(iter(plain[name].values())) for name in LOGGED_ATTRIBUTES if name in plain}
                self._event_log.write("write", task=key["pk"]["S"], wrote=wrote, replaced=replaced, **head)


LOGGED_ATTRIBUTES = ("state", "version", "run", "turns", "held", "lease_end", "idle")


def _item_key(action: dict[str, Any]) -> tuple[str, Any]:
    [body] = action.values()
    key = body.get("Key") or {name: body["Item"][name] for name in ("pk", "sk")}
    return body["TableName"], key


def _restore(table: Any, key: Any, item: Any) -> None:
    if item is not None:
        table.items[item.hash_key][item.range_key] = item
    elif (made := _find_item(table, key)) is not None:
        del table.items[made.hash_key][made.range_key]


def _find_item(table: Any, key: Any) -> Any:
    return table.get_item(DynamoType(key["pk"]), DynamoType(key["sk"]))


class PartitionQueries:
    """Replaces moto's query, which reads the whole table for every partition."""

    def __init__(self) -> None:
        self._original: Any = Table.query
        self._signature = inspect.signature(Table.query)

    def __call__(self, table: Any, hash_key: Any, *arguments: Any, **named: Any) -> Any:
        asked = self._signature.bind(table, hash_key, *arguments, **named).arguments
        if asked.get("index_name") is None:
            table, whole = copy.copy(table), table
            table.items = {hash_key: whole.items.get(hash_key, {})}
        return self._original(table, hash_key, *arguments, **named)


class QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        return


def main(event_log_path: str) -> None:
    transactions, queries = AtomicTransactions(EventLog(Path(event_log_path))), PartitionQueries()
    with (
        patch.object(Table, "__deepcopy__", lambda table, _: table, create=True),
        patch.object(DynamoDBBackend, "transact_write_items", lambda *arguments: transactions(*arguments)),
        patch.object(Table, "query", lambda *arguments, **named: queries(*arguments, **named)),
    ):
        server = make_server("127.0.0.1", 0, SerializedApp(), threaded=True, request_handler=QuietHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(f"http://127.0.0.1:{server.port}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
