"""The report is one page that loads nothing, shows its charts, and takes no text for markup but Markdown."""

import re
from html.parser import HTMLParser

import pytest

from analyst.charts.chart import Chart, draw
from analyst.report import Report, ReportError, as_html, as_markdown, picture_names
from analyst.sql.query import QueryResult

COUNTS = QueryResult(("species", "n"), (("Adelie", 152), ("Gentoo", 124)))
CHARTS = {
    "counts.svg": draw(Chart("bar", "Counts", "species", "n"), COUNTS).svg,
    "spread chart.svg": draw(Chart("histogram", "Spread", "n"), COUNTS).svg,
}


def page(markdown: str, title: str = "Penguins") -> str:
    return as_html(Report(title, markdown, "1 May 2026", "Made from penguins.csv."), CHARTS)


def body(markdown: str) -> str:
    """The page between date and footer."""
    return page(markdown).partition('<p class="date">1 May 2026</p>\n')[2].partition("</main>")[0]


class Outline(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    @property
    def ids(self) -> list[str | None]:
        return [value for name, value in self.attributes if name == "id"]


def test_a_report_has_title_date_text_table_chart_and_footer() -> None:
    text = (
        "# Penguins\n\nThere are **344**.\n\n| a | n |\n| --- | ---: |\n| x | 1 |\n\n![Of each species](counts.svg)\n"
    )
    html = page(text)
    outline = Outline(html)
    assert [outline.tags.count(tag) for tag in ("h1", "table", "figure", "svg", "footer")] == [1, 1, 1, 1, 1]
    for shown in (
        "<strong>344</strong>",
        "1 May 2026",
        "Made from penguins.csv.",
        "<figcaption>Of each species</figcaption>",
    ):
        assert shown in html
    assert '<td style="text-align:right">1</td>' in html


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    outline = Outline(page("![a](counts.svg)\n\n[paper](https://doi.org/1)"))
    assert not {"script", "link", "img", "iframe", "object", "image", "use"} & set(outline.tags)
    assert [value for name, value in outline.attributes if name in {"src", "href"}] == ["https://doi.org/1"]
    assert not re.search(r"url\(|@import", page("![a](counts.svg)"))


def test_charts_on_one_page_have_names_and_styles_of_their_own() -> None:
    html = page("![a](counts.svg)\n\n![b](counts.svg)\n\n![c](<spread chart.svg>)")
    ids = Outline(html).ids
    assert len(ids) == len(set(ids)) == 3
    for name in ids:
        assert f"#{name} .title" in html
    assert set(re.findall(r"#([\w-]*chart-\w+)", html)) == set(ids)


def test_a_caption_that_repeats_the_charts_title_is_left_out() -> None:
    assert "figcaption" not in body("![Counts](counts.svg)")


def test_a_chart_within_a_sentence_is_shown_too() -> None:
    assert body("See ![x](counts.svg) here.").count("<svg") == 1


@pytest.mark.parametrize("name", ["nope.svg", "photo.png", "https://example.com/x.svg"])
def test_a_picture_that_is_no_chart_is_an_error_that_lists_the_charts(name: str) -> None:
    with pytest.raises(ReportError, match=r"There is no chart .*There are: counts\.svg, spread chart\.svg"):
        page(f"![x]({name})")


@pytest.mark.parametrize(
    "evil",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><image href='http://evil'/></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><foreignObject/></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><style>@import 'http://evil';</style></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><rect style='fill: URL(http://evil)'/></svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><rect xmlns:x='http://www.w3.org/1999/xlink' x:href='#a'/></svg>",
        b"<!DOCTYPE svg [<!ENTITY a 'aaa'>]><svg xmlns='http://www.w3.org/2000/svg'>&a;</svg>",
        b"<svg><h:script xmlns:h='http://www.w3.org/1999/xhtml'>alert(1)</h:script></svg>",
        b"not xml",
    ],
)
def test_a_picture_with_anything_in_it_that_charts_never_have_is_refused(evil: bytes) -> None:
    report = Report("t", "![x](evil.svg)", "d", "f")
    with pytest.raises(ReportError, match=r"evil\.svg cannot be shown"):
        as_html(report, {"evil.svg": evil})


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <b onclick='x'>b</b>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "[x](file:///etc/passwd)",
        "[x](//evil.example)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    ],
)
def test_html_and_dangerous_links_stay_text(text: str) -> None:
    assert set(Outline(body(text)).tags) == {"p"}


@pytest.mark.parametrize("link", ["https://a.example/b", "http://a.example", "mailto:a@b.example", "#top"])
def test_ordinary_links_work(link: str) -> None:
    assert f'<a href="{link}">x</a>' in body(f"[x]({link})")


def test_title_date_and_footer_are_text() -> None:
    html = as_html(Report("<b>T</b>", "x", "<i>d</i>", "<u>f\x00</u>"), {})
    assert not {"b", "i", "u"} & set(Outline(html).tags)
    assert "\x00" not in html


def test_the_markdown_report_stands_alone_with_one_title() -> None:
    text = as_markdown(Report("Penguins", "# penguins\n\nMany.", "1 May 2026", "From penguins.csv."))
    assert text == "# Penguins\n\n1 May 2026\n\nMany.\n\n---\n\nFrom penguins.csv.\n"


def test_the_pictures_of_a_text_are_found_once_each() -> None:
    assert picture_names("![a](x.svg) ![b](<y z.svg>)\n\n`![c](no.svg)`\n\n![d](x.svg)") == ("x.svg", "y z.svg")
