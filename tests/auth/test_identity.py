"""Names of callers are parts of keys: fit for that, and never one for two."""

from hypothesis import given
from hypothesis import strategies as st

from agentfn.auth.identity import ANONYMOUS_ID, PRINCIPAL_ID_PATTERN, Principal, principal_id

PLAIN = st.from_regex(PRINCIPAL_ID_PATTERN, fullmatch=True)
IDENTITIES = st.one_of(
    st.text(st.characters()), st.text(st.characters(categories=["Cs"])), PLAIN, st.text("aA#/:.-", max_size=80)
)


@given(IDENTITIES)
def test_every_identity_gets_a_name_that_is_fit_for_keys(identity: str) -> None:
    name = principal_id(identity)
    assert PRINCIPAL_ID_PATTERN.fullmatch(name)
    assert name != ANONYMOUS_ID
    assert name == principal_id(identity)


@given(IDENTITIES, IDENTITIES, st.booleans())
def test_two_identities_never_get_one_name(first: str, second: str, claims_the_name: bool) -> None:
    second = principal_id(first) if claims_the_name else second
    assert (principal_id(first) == principal_id(second)) == (first == second)


@given(PLAIN.filter(lambda name: len(name) < 41 and name != ANONYMOUS_ID))
def test_a_name_that_is_fit_stays_as_it_is(name: str) -> None:
    assert principal_id(name) == name


def test_people_can_read_who_it_is_and_what_looks_alike_is_not_the_same() -> None:
    assert principal_id("auth0|ann").startswith("auth0-ann-")
    assert principal_id("日本").startswith("caller-")
    assert principal_id("é") != principal_id("e\u0301")  # one letter, or a letter and its accent
    assert principal_id("Ann") != principal_id("ann")
    assert principal_id("a/b") != principal_id("a#b") != principal_id("a:b")


def test_nobody_becomes_everyone_by_his_name() -> None:
    assert principal_id(ANONYMOUS_ID) != ANONYMOUS_ID
    assert Principal(principal_id(ANONYMOUS_ID)).is_authenticated
    assert not Principal(ANONYMOUS_ID).is_authenticated
