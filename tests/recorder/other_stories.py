"""What is beside the protocol's methods: cards, keys, health, files, uploads, CORS, callers, MCP and the queue."""

import json
from typing import Any

import requests

from agentfn.testing import calls
from recorder.agents import clerk, plain
from recorder.events import http_api
from recorder.push_stories import SIGNING_KEY
from recorder.recording import Recording

CARD, OLD_CARD, KEYS = "/.well-known/agent-card.json", "/.well-known/agent.json", "/.well-known/jwks.json"
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}
PAGE = "https://app.example.com"
GET_UNKNOWN = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}}
JWT = {"auth": "jwt", "jwt_issuer": "https://id.example.com", "jwt_audience": "clerk", "jwt_scopes": "a b"}


def cards(recording: Recording) -> None:
    """The public and the extended card, as settings make them, and the keys they are signed with."""
    for settings in (
        {},
        {"streaming": True, "push": False, "public_url": "https://agents.example.com/clerk"},
        {"auth": "none"},
        {"auth": "iam"},
        JWT,
        {"signing_key": SIGNING_KEY},
    ):
        with recording.stage(clerk(), **settings):
            first = recording.request("GET", CARD, caller="")
            recording.request("GET", OLD_CARD, caller="", event=http_api)
            recording.request("HEAD", CARD, caller="")
            recording.request("GET", CARD, caller="", headers={"If-None-Match": first["headers"]["etag"]})
            recording.request("GET", KEYS, caller="")
            recording.request("GET", "/extendedAgentCard", headers=JSON)
            recording.request("GET", "/v1/card")
            for method in ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"):
                version = {} if "/" in method else {"A2A-Version": "1.0"}
                recording.request("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method}, headers=version)
    with recording.stage(plain(), base_path="/agents/plain"):
        for path in (f"/agents/plain{CARD}", CARD, "/agents/plain/health", "/agents/plain"):
            recording.request("GET", path)


def health(recording: Recording) -> None:
    with recording.stage(plain()):
        for path in ("/health", "/healthz", "/", "/docs", "/openapi.json", "/mcp", "/files/none", "/uploads"):
            for method in ("GET", "HEAD", "POST"):
                recording.request(method, path, caller="")
                recording.request(method, path)


def callers(recording: Recording) -> None:
    """The answers to callers without the proof that is asked for."""
    for settings in ({"auth": "none"}, {"auth": "iam"}, JWT):
        with recording.stage(clerk(), **settings):
            for headers in ({}, {"Authorization": "Bearer no.token.here"}, {"Authorization": "Bearer opaque"}):
                recording.request("POST", "/", GET_UNKNOWN, headers={**JSON, **headers}, caller="")
                recording.request("GET", "/tasks/none", headers={**JSON, **headers}, caller="")


def cors(recording: Recording) -> None:
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,a2a-version"}
    for settings in (
        {"cors_origins": f"https://first.example.com,{PAGE}"},
        {"cors_origins": PAGE, "cors_credentials": True},
        {"cors_origins": "*"},
        {},
    ):
        with recording.stage(plain(), **settings):
            for origin in (PAGE, "https://evil.example.com"):
                recording.request("OPTIONS", "/", headers={"Origin": origin, **ask}, caller="")
                recording.request("OPTIONS", "/tasks/x", headers={"Origin": origin, **ask}, caller="", event=http_api)
                recording.request("GET", CARD, headers={"Origin": origin}, caller="")
                recording.request("POST", "/", GET_UNKNOWN, headers={**JSON, "Origin": origin})
                recording.request("POST", "/", GET_UNKNOWN, headers={**JSON, "Origin": origin}, caller="")


def uploads(recording: Recording) -> None:
    """Files that are uploaded past the function, used, and downloaded by their lasting address."""
    with recording.stage(clerk(), calls("count", file="a.csv"), calls("draw"), "Done.", max_upload_size=1000):
        wanted = {"name": "a.csv", "mediaType": "text/csv", "size": 4}
        offer = json.loads(recording.request("POST", "/uploads", wanted, headers=JSON)["body"])
        part = {"parts": [{"text": "Count!"}, offer["part"]], "role": "ROLE_USER"}
        params: Any = {"message": {"messageId": "upload-1", **part}}
        send = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        recording.request("POST", "/", send, headers=JSON)
        requests.post(offer["url"], data=offer["fields"], files={"file": ("x", b"a,b\n")}, timeout=20)
        task = json.loads(recording.request("POST", "/", send, headers=JSON)["body"])["result"]["task"]
        for artifact in task["artifacts"]:
            path = "/files/" + artifact["parts"][0]["metadata"]["agentfn"]["file"].rsplit("/", 1)[-1]
            for caller in ("alice", "bob", ""):
                recording.request("GET", path, caller=caller)
            recording.request("HEAD", path)
        bad: list[Any] = [
            {},
            {"name": ""},
            {"name": 7},
            {"name": "a", "size": 1001},
            {"name": "a", "size": "x"},
            [],
            "{",
        ]
        for body in bad:
            recording.request("POST", "/uploads", body, headers=JSON)
        recording.request("POST", "/uploads", {"name": "../a.bin", "mediaType": "no type", "more": 1}, headers=JSON)
        recording.request("POST", "/uploads", wanted, headers=JSON, caller="")
        recording.request("GET", "/files/none")


def mcp(recording: Recording) -> None:
    """The tools as an MCP server, in both of its versions."""
    with recording.stage(clerk(), mcp=True, max_output_chars=1000):
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        mcp_request(recording, "initialize", hello)
        notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        recording.request("POST", "/mcp", notice, headers={**JSON, "Accept": "application/json, text/event-stream"})
        for modern in (False, True):
            mcp_request(recording, "ping", modern=modern)
            mcp_request(recording, "tools/list", modern=modern)
            for name, arguments in (
                ("look_up", {"city": "é"}),
                ("look_up", {"city": 7}),
                ("look_up", {}),
                ("draw", {}),
                ("recite", {"length": 3000}),
                ("count", {"file": "data:text/plain,Hi"}),
                ("count", {"file": "none"}),
                ("explode", {}),
                ("book", {"seat": 1}),
                ("fly", {}),
            ):
                mcp_request(recording, "tools/call", {"name": name, "arguments": arguments}, modern=modern)
            mcp_request(recording, "resources/list", modern=modern)
        accept = {"Accept": "application/json, text/event-stream"}
        bad: list[Any] = ["{", "", [], {"method": "ping"}, "x" * 7_000_000]
        for body in bad:
            recording.request("POST", "/mcp", body, headers={**JSON, **accept})
        recording.request(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers={"Accept": "text/html"}
        )
        recording.request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, caller="")
        recording.request("GET", "/mcp")


def mcp_request(recording: Recording, method: str, params: Any = None, *, modern: bool = False) -> None:
    version = "2026-07-28" if modern else "2025-11-25"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers["MCP-Protocol-Version"] = version
    if modern:
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**(params or {}), "_meta": meta}
        headers |= {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
    body = {"jsonrpc": "2.0", "id": 7, "method": method, **({"params": params} if params else {})}
    recording.request("POST", "/mcp", body, headers=headers)


OTHER_STORIES = {
    "cards": cards,
    "health": health,
    "callers": callers,
    "cors": cors,
    "uploads": uploads,
    "mcp": mcp,
}
