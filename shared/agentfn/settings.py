"""The settings of an agent, read from the environment once, when the function starts.

An empty variable counts as unset: a template can pass a parameter on without knowing whether it was given.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import ValidationError, model_validator

from agentfn.errors import ConfigurationError
from agentfn.settings_groups import (
    AuthSettings,
    FetchSettings,
    HttpSettings,
    LoopSettings,
    MessageSettings,
    ModelSettings,
    PushSettings,
    QueueSettings,
    RouterSettings,
    RunSettings,
    SettingsGroup,
    SigningSettings,
    StorageSettings,
    ToolSettings,
)

RENAMED_VARIABLES = {
    "AGENT_MODEL_DOOR": "AGENT_MODEL_PROVIDER",
    "AGENTFN_MAX_NUDGES": "AGENTFN_MAX_RETRY_PROMPTS",
}


class Settings(SettingsGroup):
    """All settings, in groups: `settings.loop.max_steps` is the variable AGENTFN_MAX_STEPS. `load` reads them."""

    storage: StorageSettings
    queue: QueueSettings
    model: ModelSettings
    router: RouterSettings
    http: HttpSettings
    auth: AuthSettings
    signing: SigningSettings
    push: PushSettings
    fetch: FetchSettings
    message: MessageSettings
    run: RunSettings
    loop: LoopSettings
    tools: ToolSettings

    @classmethod
    def load(cls, environment: Mapping[str, str]) -> Self:
        """Raises ConfigurationError, with one line for each variable that is missing, wrong or renamed."""
        renamed = [
            f"{old} is now {new}: rename the variable"
            for old, new in RENAMED_VARIABLES.items()
            if environment.get(old, "").strip()
        ]
        if renamed:
            raise ConfigurationError("\n".join(renamed))
        try:
            return cls.model_validate(_read_group(cls, environment))
        except ValidationError as error:
            raise ConfigurationError("\n".join(_error_lines(error))) from None

    @classmethod
    def variables(cls) -> dict[str, Any]:
        """The names of all environment variables that agentfn reads, each with its default; None where unset."""
        return dict(_variables(cls))

    @model_validator(mode="after")
    def _check_reserve(self) -> Self:
        if self.run.reserve_seconds >= self.http.request_seconds:
            raise ValueError(
                "AGENTFN_RESERVE_SECONDS must be less than AGENTFN_REQUEST_SECONDS, or requests have no time to work"
            )
        return self

    @model_validator(mode="after")
    def _check_signing(self) -> Self:
        if self.push.signed and not (self.signing.key or self.signing.secret_arn):
            raise ValueError("AGENTFN_PUSH_SIGNED needs AGENTFN_SIGNING_SECRET (or AGENTFN_SIGNING_KEY on a laptop)")
        return self


def _groups(model: type[SettingsGroup]) -> dict[str, type[SettingsGroup]]:
    """The fields of a model that are groups themselves."""
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, SettingsGroup)}


def _variables(model: type[SettingsGroup]) -> Iterator[tuple[str, Any]]:
    groups = _groups(model)
    for name, field in model.model_fields.items():
        if name in groups:
            yield from _variables(groups[name])
        else:
            yield str(field.validation_alias), None if field.is_required() else field.default


def _read_group(model: type[SettingsGroup], environment: Mapping[str, str]) -> dict[str, Any]:
    groups = _groups(model)
    variables = [str(field.validation_alias) for name, field in model.model_fields.items() if name not in groups]
    values: dict[str, Any] = {name: text for name in variables if (text := environment.get(name, "")).strip()}
    return values | {name: _read_group(group, environment) for name, group in groups.items()}


def _error_lines(error: ValidationError) -> list[str]:
    variables = Settings.variables()
    lines = []
    for details in error.errors(include_input=False, include_url=False):
        where = [str(part) for part in details["loc"] if part in variables]
        text = details["msg"].removeprefix("Value error, ")
        lines.append(f"{where[0]}: {text[:1].lower()}{text[1:]}" if where else text)
    return lines
