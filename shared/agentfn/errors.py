"""Every error of agentfn.

    AgentfnError
    ├── ConfigurationError    an agent or a setting is wrong: stops the cold start, names the thing
    ├── ToolError             what a tool says to the model instead of a result
    ├── ModelError            the language model gave no answer
    │   ├── ModelUnavailable  for now: rate limit, overload, connection, timeout; may say when to come back
    │   └── ModelRefused      for good: key, name, request, content
    │       └── ModelTooLong  the transcript is longer than the model takes
    ├── FileRefused           a file or source from outside that cannot be taken as it is
    ├── ConflictError         a write lost its race; the winner is in the table
    └── StorageError          the table or the bucket gave an answer that cannot be gone on with

Protocol errors are a2a-sdk's own (`a2a.utils.errors`): they leave the `a2a` package only.
"""


class AgentfnError(Exception):
    """The root. Its text may be shown to whoever caused it; secrets and internals belong in the log."""


class ConfigurationError(AgentfnError):
    """An agent's declaration or the environment is wrong; the text names the tool, skill or variable."""


class ToolError(AgentfnError):
    """Raised by a tool to tell the model what went wrong and what to try instead."""


class ModelError(AgentfnError):
    """The language model gave no answer."""


class ModelUnavailable(ModelError):  # noqa: N818 - it reads as a state, like the HTTP status it stands for
    """No answer now, perhaps one later. `retry_after` is in seconds, None where the provider did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRequestRejected(ModelError):  # noqa: N818
    """No answer to this request, however often it is asked."""


class ContextWindowExceeded(ModelRequestRejected):
    """The transcript is longer than the model takes: a shorter one may pass."""


class FileRejected(AgentfnError):  # noqa: N818
    """A file, name or source that cannot be taken as it is."""


class ConflictError(AgentfnError):
    """The task was changed by somebody else since it was read. Read it again: what is there has won."""


class StoredDataError(AgentfnError):
    """Stored state that this version of the code cannot go on with."""
