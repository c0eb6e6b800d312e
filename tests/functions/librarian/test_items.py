"""Items: their ids stay what people call them, and their pages are those that they cover."""

from librarian.formats.content import Content, Heading, Part
from librarian.items import Document


def document(*marks: tuple[str, int, int] | tuple[str, int, int, bool], pages: int = 10) -> Document:
    parts = tuple(Part(number, f"Page {number}") for number in range(1, pages + 1))
    return Document("a.pdf", Content("PDF", "p.", parts, tuple(Heading(*mark) for mark in marks), "bookmarks", 1.0))


def shown(made: Document) -> list[str]:
    return [f"{'  ' * (item.level - 1)}{item.id} {item.title} {item.first}-{item.last}" for item in made.items]


def test_an_item_ends_before_the_next_one_of_its_level() -> None:
    made = document(
        ("1. Opening", 1, 1), ("2. Budget", 1, 3), ("2.1 Memo", 2, 4), ("2.2 Tables", 2, 6), ("3. End", 1, 9)
    )
    assert shown(made) == ["1 Opening 1-2", "2 Budget 3-8", "  2.1 Memo 4-5", "  2.2 Tables 6-8", "3 End 9-10"]


def test_an_item_that_begins_in_the_middle_of_a_page_shares_it() -> None:
    made = document(("1. A", 1, 1), ("2. B", 1, 3, False), ("3. C", 1, 3, False), ("4. D", 1, 4))
    assert shown(made) == ["1 A 1-3", "2 B 3-3", "3 C 3-3", "4 D 4-10"]
    assert made.cite(3) == "a.pdf, Item 1, p. 3"


def test_ids_are_the_titles_own_numbers_else_places_else_slugs() -> None:
    made = document(
        ("Agenda", 1, 1), ("Item 5: Budget", 1, 2), ("Memo", 2, 2), ("A. Tables", 2, 3), ("5. Budget again", 1, 4),
        ("Exhibit B", 1, 5), ("Agenda", 1, 6), ("\u00dcber alles", 1, 7), ("***", 1, 8), ("14 September minutes", 1, 9),
    )  # fmt: skip
    ids = [item.id for item in made.items]
    assert ids[:5] == ["agenda", "5", "5.1", "5.2", "5-2"]
    assert ids[5:] == ["B", "agenda-2", "\u00fcber-alles", "part-7", "14-september-minutes"]
    assert len(set(ids)) == len(ids)


def test_one_title_over_all_is_no_item() -> None:
    made = document(("The packet", 1, 1), ("1. A", 2, 2), ("2. B", 2, 5))
    assert shown(made) == ["1 A 2-4", "2 B 5-10"]


def test_levels_that_skip_are_closed_up() -> None:
    assert shown(document(("1. A", 2, 1), ("1.1 B", 5, 2), ("2. C", 2, 5))) == ["1 A 1-4", "  1.1 B 2-4", "2 C 5-10"]


def test_a_page_is_cited_by_the_innermost_item_that_has_it() -> None:
    made = document(("1. A", 1, 2), ("1.1 B", 2, 4), ("Letters", 1, 8))
    assert made.cite(1) == "a.pdf, p. 1"
    assert made.cite(3) == "a.pdf, Item 1, p. 3"
    assert made.cite(4, 5, alone=True) == "Item 1.1, pp. 4\u20135"
    assert made.cite(9) == 'a.pdf, "Letters", p. 9'
