"""Settings for tests that start no agent."""

from agentfn.settings import Settings

REQUIRED = {"AGENTFN_TABLE": "t", "AGENTFN_BUCKET": "b", "AGENTFN_QUEUE_URL": "q", "AGENTFN_AUTH": "none"}


def load_settings(**variables: str | None) -> Settings:
    """The settings of an agent without authentication. `variables` are environment variables; None leaves one out."""
    return Settings.load(REQUIRED | {name: value for name, value in variables.items() if value is not None})
