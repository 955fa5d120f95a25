"""The snippets of the documentation say what they say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "python").rglob("*.md"))
SNIPPET = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: Path) -> str:
    """All snippets of a page, on the lines that they have there."""
    text = page.read_text(encoding="utf-8")
    lines: list[str] = []
    for found in SNIPPET.finditer(text):
        first = text.count("\n", 0, found.start(1))
        lines += [""] * (first - len(lines)) + found[1].splitlines()
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_print_what_the_page_shows(page):
    name = str(page.relative_to(ROOT))
    test = doctest.DocTestParser().get_doctest(snippets(page), {}, name, name, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


def test_there_are_snippets():
    assert sum(snippets(page).count(">>>") for page in PAGES) > 60
