"""Cross-origin requests from browsers (CORS): allowed for the origins that the operator names."""

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
    """Adds the middleware outside authentication: a preflight has no token, and errors need CORS headers too."""
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
