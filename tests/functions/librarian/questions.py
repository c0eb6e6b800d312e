"""Ten questions about the sample packet, with the facts that an answer must have and the citation."""

from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parents[3] / "functions" / "librarian" / "data"
NAMES = ("packet.pdf", "library-memo.docx", "notice.html")


@dataclass(frozen=True)
class SampleQuestion:
    """A question. `citation` is the expected one: document, item, page."""

    text: str
    facts: tuple[str, ...]
    citation: str


QUESTIONS = (
    SampleQuestion(
        "What is the total of the proposed general fund for fiscal year 2027, and by how much does it rise?",
        ("$18,462,300", "3.4 percent"),
        "packet.pdf, Item 5.1, p. 11",
    ),
    SampleQuestion(
        "What sum is proposed for the library department in the table of expenditures for 2027?",
        ("1,284,600",),
        "packet.pdf, Item 5.2, p. 13",
    ),
    SampleQuestion(
        "To whom is the contract for the Quarry Road water main to be awarded, and for what price?",
        ("Tamsin and Orde", "$2,318,450"),
        "packet.pdf, Item 7, p. 23",
    ),
    SampleQuestion(
        "By which date must the work on the water main be substantially complete?",
        ("15 September 2027",),
        "packet.pdf, Item 7.2, p. 25",
    ),
    SampleQuestion(
        "How high may a building in the Mill Street Mixed District be?",
        ("45 feet", "four stories"),
        "packet.pdf, Item 6.2, p. 21",
    ),
    SampleQuestion(
        "How did the planning board vote on the rezoning of Mill Street?",
        ("five to two",),
        "packet.pdf, Item 6.3, p. 22",
    ),
    SampleQuestion(
        "Which councillor was absent from the meeting in October?",
        ("Delia Marchetti",),
        "packet.pdf, Item 2, p. 3",
    ),
    SampleQuestion(
        "How much money has the skating club raised with bake sales?",
        ("$7,350",),
        "packet.pdf, Item 8, p. 29",
    ),
    SampleQuestion(
        "How many readers who answered the survey want the library to open on Sundays?",
        ("412", "603"),
        'library-memo.docx, "What came back", § 3',
    ),
    SampleQuestion(
        "What is the meeting number for those who join by telephone?",
        ("884 2210",),
        'notice.html, "How to take part", § 2',
    ),
)


def packet() -> dict[str, bytes]:
    """The files of the sample packet, by name."""
    return {name: (DATA / name).read_bytes() for name in NAMES}
