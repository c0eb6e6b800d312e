"""Sanitizes SVG for use in a page: known elements, no scripts, nothing loaded from outside."""

import re
import xml.etree.ElementTree as ET

ELEMENTS = frozenset({"svg", "g", "defs", "style", "title", "path", "rect", "circle", "text", "line"})
NAMESPACE = "http://www.w3.org/2000/svg"
# Characters that XML cannot hold, escaped or not.
CONTROL_CHARS = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
GEOMETRY_ATTRIBUTES = frozenset(
    {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "d", "transform"}
)
LONG_FRACTION = re.compile(r"\d+\.\d{3,}")
EXTERNAL_REFERENCE = re.compile(r"url\(|@import|expression\(|\\", re.IGNORECASE)


class UnsafeSvgError(Exception):
    """An SVG contains something that a chart never has."""


def strip_control_chars(text: str) -> str:
    """The text on one line, without characters that XML does not allow."""
    return " ".join(CONTROL_CHARS.sub("", text).split())


def sanitize_svg(svg: str) -> bytes:
    """pygal's SVG without scripts, tooltips, comments and ids, with numbers rounded to two decimals."""
    root = _parse(svg.encode())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {"script", "desc"} or "tooltip-overlay" in child.get("class", ""):
                parent.remove(child)
    for element in root.iter():
        for name in GEOMETRY_ATTRIBUTES & element.attrib.keys():
            element.set(name, LONG_FRACTION.sub(lambda number: f"{float(number[0]):.2f}", element.attrib[name]))
        if element is not root:
            element.attrib.pop("id", None)
    root.set("role", "img")
    return _write(root)


def inline_svg(svg: bytes, number: int) -> str:
    """A chart for the page's figure `number`, whose styles are scoped to that figure.

    Raises UnsafeSvgError for an SVG that `sanitize_svg` would not have made.
    """
    root = _parse(svg)
    name = root.get("id", "")
    for element in root.iter():
        _check_element(element)
    text = _write(root).decode()
    return text.replace(name, f"figure-{number}-{name}") if name else text


def title_of(svg: bytes) -> str:
    """The title of an SVG."""
    return _parse(svg).findtext("title", "")


def _check_element(element: ET.Element) -> None:
    if element.tag not in ELEMENTS:
        raise UnsafeSvgError(f"it has <{element.tag}> in it")
    for name, value in element.attrib.items():
        if name.lower().startswith("on") or "href" in name.lower() or EXTERNAL_REFERENCE.search(value):
            raise UnsafeSvgError(f"it has {name} on <{element.tag}>")
    if element.tag == "style" and EXTERNAL_REFERENCE.search(element.text or ""):
        raise UnsafeSvgError("its styles load something")


def _parse(svg: bytes) -> ET.Element:
    if b"<!DOCTYPE" in svg or b"<!ENTITY" in svg:
        raise UnsafeSvgError("it declares entities")
    try:
        root = ET.fromstring(svg)  # noqa: S314 - without entities there is nothing to expand
    except ET.ParseError as error:
        raise UnsafeSvgError("it is not XML") from error
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    return root


def _write(root: ET.Element) -> bytes:
    root.set("xmlns", NAMESPACE)
    return ET.tostring(root, encoding="unicode").encode()
