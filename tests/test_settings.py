"""What the environment decides, and how a wrong one is complained about."""

import contextlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn import AgentfnError, ConfigurationError, Settings
from agentfn.auth.identity import parse_tokens
from agentfn.settings import RENAMED_VARIABLES

HERE = {"AGENTFN_TABLE": "table", "AGENTFN_BUCKET": "bucket", "AGENTFN_QUEUE_URL": "https://queue"}
OPEN = {**HERE, "AGENTFN_AUTH": "none"}
SECRET = "a-very-secret-token-1"  # no real one

REQUIRED = {"AGENTFN_TABLE", "AGENTFN_BUCKET", "AGENTFN_QUEUE_URL"}
VARIABLES = Settings.variables()
NUMBERS = sorted(name for name, default in VARIABLES.items() if type(default) in (int, float))
MAY_BE_ZERO = {"AGENTFN_MODEL_RETRIES", "AGENTFN_MAX_RETRY_PROMPTS", "AGENTFN_MEMORY_CHARS"}


def test_only_the_places_have_no_default() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.load({"AGENTFN_AUTH": "none"})
    assert {line.partition(":")[0] for line in str(caught.value).splitlines()} == REQUIRED


def test_every_variable_is_read() -> None:
    """Each is set to a value that no setting takes, or that is seen in the settings."""
    for name in VARIABLES.keys() - REQUIRED:
        with contextlib.suppress(ConfigurationError):
            assert Settings.load({**OPEN, name: '"'}) != Settings.load(OPEN), name


@pytest.mark.parametrize("name", sorted(VARIABLES.keys() - REQUIRED - {"AGENTFN_AUTH"}))
@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_an_empty_variable_counts_as_unset(name: str, blank: str) -> None:
    assert Settings.load({**OPEN, name: blank}) == Settings.load(OPEN)


@pytest.mark.parametrize(("old", "new"), sorted(RENAMED_VARIABLES.items()))
def test_a_renamed_variable_stops_the_start_and_names_the_new_one(old: str, new: str) -> None:
    assert new in VARIABLES
    assert old not in VARIABLES
    with pytest.raises(ConfigurationError, match=f"^{old} is now {new}: "):
        Settings.load({**OPEN, old: "auto"})
    assert Settings.load({**OPEN, old: ""}) == Settings.load(OPEN)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("bad", ["-1", "abc", "nan", "1e99", "0x10"])
def test_a_bad_number_is_reported_by_its_variable(name: str, bad: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: ") as caught:
        Settings.load({**OPEN, name: bad})
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - MAY_BE_ZERO))
def test_zero_is_not_a_limit(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        Settings.load({**OPEN, name: "0"})


def test_each_wrong_variable_has_a_line_of_its_own() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.load({"AGENTFN_BUCKET": "b", "AGENTFN_MAX_STEPS": "many", "AGENTFN_AUTH": "magic"})
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "AGENTFN_TABLE",
        "AGENTFN_QUEUE_URL",
        "AGENTFN_AUTH",
        "AGENTFN_MAX_STEPS",
    ]


@pytest.mark.parametrize(("seconds", "taken"), [(604_800, True), (604_801, False), (2_592_000, False), (59, False)])
def test_links_live_at_most_a_week_as_their_signatures_do(seconds: int, taken: bool) -> None:
    environment = {**OPEN, "AGENTFN_LINK_SECONDS": str(seconds)}
    if taken:
        assert Settings.load(environment).storage.link_seconds == seconds
    else:
        with pytest.raises(ConfigurationError, match="AGENTFN_LINK_SECONDS"):
            Settings.load(environment)


def test_other_variables_are_let_alone_whatever_they_are_called() -> None:
    """Lambda's environment has many; a field's own name is not a variable."""
    strangers = {"PATH": "/bin", "auth": "magic", "table": "stolen", "max_steps": "x", "AGENTFN_NEW": "?"}
    assert Settings.load({**OPEN, **strangers}) == Settings.load(OPEN)


def test_a_reserve_as_long_as_a_request_leaves_no_time_and_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="AGENTFN_RESERVE_SECONDS"):
        Settings.load({**OPEN, "AGENTFN_RESERVE_SECONDS": "29"})


@pytest.mark.parametrize("url", ["example.com", "ftp://example.com", "https://", "//x", "https://x/?a=b", "http://["])
def test_a_public_url_that_nobody_can_call_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="AGENTFN_PUBLIC_URL"):
        Settings.load({**OPEN, "AGENTFN_PUBLIC_URL": url})


def test_a_public_url_and_a_base_path_are_taken_without_their_last_slash() -> None:
    given = {"AGENTFN_PUBLIC_URL": "https://x.example/agents/", "AGENTFN_BASE_PATH": "agents/pdf/"}
    settings = Settings.load({**OPEN, **given})
    assert (settings.http.public_url, settings.http.base_path) == ("https://x.example/agents", "/agents/pdf")
    assert Settings.load({**OPEN, "AGENTFN_BASE_PATH": "/"}).http.base_path == ""


def test_without_auth_nobody_is_let_in_by_oversight() -> None:
    with pytest.raises(ConfigurationError, match=r"AGENTFN_TOKENS_SECRET .*AGENTFN_AUTH=none"):
        Settings.load(HERE)
    assert Settings.load({**HERE, "AGENTFN_TOKENS_SECRET": "arn:x"}).auth.mode == "bearer"
    for tokens in (f'"{SECRET}"', f'["{SECRET}", "{SECRET}-2"]'):
        assert Settings.load({**HERE, "AGENTFN_TOKENS": f'{{"ann": {tokens}}}'}).auth.mode == "bearer"


BAD_TOKENS = [
    SECRET,
    f'["{SECRET}"]',
    "{}",
    "null",
    f'{{"ann": "{SECRET}"',
    f'{{"ann": ["{SECRET}", 7]}}',
    '{"ann": []}',
    f'{{"ann": "{SECRET}\\n"}}',
    f'{{"ann": "{SECRET} x"}}',
    f'{{"": "{SECRET}"}}',
    f'{{"ann#bob": "{SECRET}"}}',
    f'{{"ann/bob": "{SECRET}"}}',
    f'{{"{SECRET}": "ann"}}',
    f'{{"ann": "{SECRET}", "bob": "{SECRET}"}}',
]


@pytest.mark.parametrize("tokens", BAD_TOKENS)
def test_bad_tokens_are_complained_about_without_being_quoted(tokens: str) -> None:
    with pytest.raises(ConfigurationError, match="AGENTFN_TOKENS: ") as caught:
        Settings.load({**HERE, "AGENTFN_TOKENS": tokens})
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


@given(st.text())
def test_no_text_breaks_the_reader_of_tokens(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_tokens(text)


def test_secrets_show_nowhere_in_settings() -> None:
    settings = Settings.load({**HERE, "AGENTFN_TOKENS": f'{{"ann": "{SECRET}"}}', "AGENT_MODEL_API_KEY": SECRET})
    shown = [repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump()), f"{settings}"]
    assert all(SECRET not in text for text in shown)
    assert settings.model.api_key is not None
    assert settings.model.api_key.get_secret_value() == SECRET


def test_settings_do_not_change_and_can_be_handed_on() -> None:
    settings = Settings.load(OPEN)
    with pytest.raises(ValueError, match="frozen"):
        settings.loop.max_steps = 1
    with pytest.raises(ValueError, match="frozen"):
        settings.loop = settings.loop
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_all_errors_have_one_root() -> None:
    from agentfn import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, AgentfnError) for kind in kinds)
    drawn = errors.__doc__ or ""
    assert all(kind.__name__ in drawn for kind in kinds)
