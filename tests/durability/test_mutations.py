"""Each mutation matches the current code, and its test exists."""

import pytest

from durability.mutations import MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.mechanism)
def test_what_is_taken_out_is_in_the_code_once_and_has_a_test(mutation: Mutation) -> None:
    assert mutation.fits()
    assert f"def {mutation.test.split(' ')[0]}" in (ROOT / mutation.path).read_text()
