"""The exceptions of agentfn.

    AgentfnError
    ├── ConfigurationError            an agent's declaration or a setting is wrong: stops the start, and names it
    ├── ToolError                     raised by a tool: its text is the tool's result for the model
    ├── ModelError                    the language model gave no response
    │   ├── ModelUnavailable          temporary: rate limit, overload, connection, timeout; may have a retry time
    │   └── ModelRequestRejected      permanent: API key, model name, request, content
    │       └── ContextWindowExceeded the request is longer than the model's context window
    ├── AwsError                      a call of DynamoDB, S3, SQS or Secrets Manager failed
    ├── FileRejected                  a file, file name or URL of a caller or a model that is not accepted
    ├── ConflictError                 a conditional write failed because the task was changed meanwhile
    └── StoredDataError               an object or an item is gone, replaced, or written by a later version

Protocol errors are a2a-sdk's own (`a2a.utils.errors`): only the `a2a` package raises them.
"""


class AgentfnError(Exception):
    """The base class. Its text may be shown to the caller; secrets and internals belong in the log."""


class ConfigurationError(AgentfnError):
    """An agent's declaration or the environment is wrong; the text names the tool, skill or variable."""


class ToolError(AgentfnError):
    """Raised by a tool to tell the model what went wrong and what to try instead."""


class ModelError(AgentfnError):
    """The language model gave no response."""


class ModelUnavailable(ModelError):  # noqa: N818 - it reads as a state, like the HTTP status it stands for
    """No response now, perhaps later. `retry_after` is in seconds, None where the provider did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRequestRejected(ModelError):  # noqa: N818
    """No response to this request, however often it is sent."""


class ContextWindowExceeded(ModelRequestRejected):
    """The request is longer than the model's context window; a shorter transcript may fit."""


class AwsError(AgentfnError):
    """A call of DynamoDB, S3, SQS or Secrets Manager failed. `__cause__` is botocore's error."""


class FileRejected(AgentfnError):  # noqa: N818
    """A file, file name or URL that is not accepted."""


class ConflictError(AgentfnError):
    """The task was changed since it was read. Read it again: the stored version is the valid one."""


class StoredDataError(AgentfnError):
    """Stored data is gone, was replaced, or was written by a later version of agentfn."""
