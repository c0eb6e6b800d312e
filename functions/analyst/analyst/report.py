"""Renders a Markdown report as one self-contained HTML page: styles and charts are inline, nothing is loaded."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from analyst.charts.safe_svg import CONTROL_CHARS, UnsafeSvgError, inline_svg, title_of

STYLESHEET = Path(__file__).with_name("report.css")
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LINK_SCHEMES = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)


class ReportError(Exception):
    """A report refers to a chart that does not exist. The text lists the charts that do."""


@dataclass(frozen=True)
class Report:
    """A report. `footer` names the source of the numbers; `date` is printed as it is."""

    title: str
    markdown: str
    date: str
    footer: str

    @property
    def body(self) -> str:
        """The Markdown, without a first heading that repeats the title."""
        text = CONTROL_CHARS.sub("", self.markdown).strip()
        first, _, rest = text.partition("\n")
        repeated = first.startswith("# ") and first[2:].strip().casefold() == self.title.strip().casefold()
        return rest.strip() if repeated else text


def as_markdown(report: Report) -> str:
    return f"# {report.title}\n\n{report.date}\n\n{report.body}\n\n---\n\n{report.footer}\n"


def as_html(report: Report, charts: Mapping[str, bytes]) -> str:
    """Renders the page. `charts` are SVG files by name. Raises ReportError for a picture that is no chart."""
    title, date, footer = (escape(CONTROL_CHARS.sub("", text)) for text in (report.title, report.date, report.footer))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">
<title>{title}</title>
<style>
{STYLESHEET.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="date">{date}</p>
{_HtmlRenderer(charts).render(report.body)}</main>
<footer><p>{footer}</p></footer>
</body>
</html>
"""


def picture_names(markdown: str) -> tuple[str, ...]:
    """The names of the pictures in the Markdown, each once, in order."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    images = [child for token in tokens for child in token.children or () if child.type == "image"]
    return tuple(dict.fromkeys(unquote(str(image.attrs["src"])) for image in images))


class _HtmlRenderer:
    """Renders one page. It numbers the figures, so that each has a unique id."""

    def __init__(self, charts: Mapping[str, bytes]) -> None:
        from markdown_it import MarkdownIt

        self.charts, self.figures = charts, 0
        self.markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self.markdown.validateLink = self._is_allowed_link  # type: ignore[method-assign]
        for name in ("image", "table_open", "table_close"):
            self.markdown.add_render_rule(name, getattr(self, f"_{name}"))

    def render(self, text: str) -> str:
        tokens = self.markdown.parse(text)
        for opening, content, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if opening.type == "paragraph_open" and _only_pictures(content):
                opening.hidden = closing.hidden = True  # HTML allows no figure inside a paragraph
        return str(self.markdown.renderer.render(tokens, self.markdown.options, {}))

    def _is_allowed_link(self, url: str) -> bool:
        return bool(LINK_SCHEMES.match(url)) or unquote(url) in self.charts or _is_picture(url)

    def _image(self, tokens: Sequence[Any], index: int, *_: Any) -> str:
        token = tokens[index]
        name = unquote(str(token.attrs["src"]))
        if name not in self.charts:
            raise ReportError(f"There is no chart {name}. There are: {', '.join(self.charts) or 'none yet'}.")
        self.figures += 1
        try:
            picture, title = inline_svg(self.charts[name], self.figures), title_of(self.charts[name])
        except UnsafeSvgError as error:
            raise ReportError(f"{name} cannot be shown: {error}. Only charts made by make_chart can.") from error
        caption = str(token.content).strip()
        shown = f"<figcaption>{escape(caption)}</figcaption>" if caption and caption != title else ""
        return f'<figure><div class="picture">{picture}</div>{shown}</figure>\n'

    def _table_open(self, *_: Any) -> str:
        return '<div class="table"><table>\n'

    def _table_close(self, *_: Any) -> str:
        return "</table></div>\n"


def _is_picture(url: str) -> bool:
    """Accepts any .svg name: `_image` reports unknown ones with the list of charts."""
    return bool(re.fullmatch(r"[^:/?#]+\.[a-z]{3,4}", url, re.IGNORECASE))


def _only_pictures(token: Any) -> bool:
    children = token.children or []
    return bool(children) and all(child.type in {"image", "softbreak"} for child in children)
