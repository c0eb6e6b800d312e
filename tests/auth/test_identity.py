"""Names of callers are parts of keys: fit for that, and never one for two."""

from hypothesis import given
from hypothesis import strategies as st

from agentfn.auth.identity import ANYONE, NAME, Caller, owner_of

PLAIN = st.from_regex(NAME, fullmatch=True)
IDENTITIES = st.one_of(
    st.text(st.characters()), st.text(st.characters(categories=["Cs"])), PLAIN, st.text("aA#/:.-", max_size=80)
)


@given(IDENTITIES)
def test_every_identity_gets_a_name_that_is_fit_for_keys(identity: str) -> None:
    name = owner_of(identity)
    assert NAME.fullmatch(name)
    assert name != ANYONE
    assert name == owner_of(identity)


@given(IDENTITIES, IDENTITIES, st.booleans())
def test_two_identities_never_get_one_name(first: str, second: str, claims_the_name: bool) -> None:
    second = owner_of(first) if claims_the_name else second
    assert (owner_of(first) == owner_of(second)) == (first == second)


@given(PLAIN.filter(lambda name: len(name) < 41 and name != ANYONE))
def test_a_name_that_is_fit_stays_as_it_is(name: str) -> None:
    assert owner_of(name) == name


def test_people_can_read_who_it_is_and_what_looks_alike_is_not_the_same() -> None:
    assert owner_of("auth0|ann").startswith("auth0-ann-")
    assert owner_of("日本").startswith("caller-")
    assert owner_of("é") != owner_of("e\u0301")  # one letter, or a letter and its accent
    assert owner_of("Ann") != owner_of("ann")
    assert owner_of("a/b") != owner_of("a#b") != owner_of("a:b")


def test_nobody_becomes_everyone_by_his_name() -> None:
    assert owner_of(ANYONE) != ANYONE
    assert Caller(owner_of(ANYONE)).is_authenticated
    assert not Caller(ANYONE).is_authenticated
