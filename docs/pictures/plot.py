"""What the pictures of the book share: a small plot as SVG, readable on light and on dark pages."""

from __future__ import annotations

COLOURS = ["#2f6fde", "#e07a1f", "#2a9d5c", "#c2417c", "#7a5bd0"]
FONT = "font-family='system-ui, sans-serif' font-size='13'"


def document(width: int, height: int, parts: list[str], title: str) -> str:
    """Return a whole SVG on a white card, so that it can be read on any page."""
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img' aria-label='{title}'>"
    card = f"<rect width='{width}' height='{height}' rx='8' fill='#ffffff'/>"
    return "\n".join([head, card, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#222", extra: str = "") -> str:
    """Return a line of text."""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' {FONT} {extra}>{words}</text>"
