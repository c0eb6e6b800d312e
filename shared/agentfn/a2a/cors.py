"""Which web pages may call the agent from a browser (CORS). None, unless an operator names them."""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from agentfn.settings_groups import HttpSettings

ALLOWED_METHODS = ("GET", "HEAD", "POST", "DELETE")
EXPOSED_HEADERS = (
    "ETag",
    "WWW-Authenticate",
    "Retry-After",
    "A2A-Extensions",
    "X-Amzn-RequestId",
)  # for a page's script


def add_cors(app: ASGIApp, settings: HttpSettings) -> ASGIApp:
    """Around everything else: a preflight carries no token, and a page must be able to read what an error says."""
    if not settings.origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=settings.origins,
        allow_methods=ALLOWED_METHODS,
        allow_headers=("*",),
        allow_credentials=settings.cors_credentials,
        expose_headers=EXPOSED_HEADERS,
    )
