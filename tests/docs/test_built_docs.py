"""The documentation as a reader gets it: built without a warning, searched, no link dead."""

import os
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html

from browsers import chromium
from docs.built_docs import DOCS, LANGUAGES, NAMES, PAGE, found, sphinx


@pytest.mark.parametrize("source", LANGUAGES.values(), ids=LANGUAGES)
def test_every_name_of_the_documents_is_on_the_page_about_them(source):
    page = (source / f"{PAGE}.md").read_text("utf-8")
    parts = {part for name in NAMES for part in name.split()}
    assert not [part for part in parts if part not in page]


@pytest.mark.needs("sphinx")
@pytest.mark.needs("chromium")
def test_the_chinese_search_finds_names(tmp_path):
    """In a build of one page, which is fast; all pages are searched below."""
    source = tmp_path / "pages"
    (source / "guide").mkdir(parents=True)
    (source / "index.md").write_text(f"# regard\n\n```{{toctree}}\n{PAGE}\n```\n", "utf-8")
    shutil.copy(LANGUAGES["zh"] / f"{PAGE}.md", source / f"{PAGE}.md")
    options = ["-c", str(LANGUAGES["zh"]), "-D", "extensions=myst_parser,chinese_search"]
    site = sphinx(source, tmp_path / "site", *options)
    with chromium() as browser:
        tab = browser.new_page()
        for name in ("缩放点积注意力", "键", "valid_lens"):
            assert any(PAGE in link for link in found(tab, site, name)), name
        assert found(tab, site, "不存在的名字") == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages, as `make docs` builds them; those in the folder REGARD_DOCS if it is set."""
    if built := os.environ.get("REGARD_DOCS"):
        return Path(built).resolve()
    out = tmp_path_factory.mktemp("docs") / "html"
    for source, target in ((DOCS, out), (DOCS / "zh", out / "zh")):
        sphinx(source, target, "-W", "--keep-going")
    return out


@pytest.mark.slow
@pytest.mark.needs("sphinx")
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_is_found_by_one_search(site, language):
    with chromium() as browser:
        tab = browser.new_page()
        for name in NAMES:
            links = found(tab, site / "zh" if language == "zh" else site, name)
            assert any(PAGE in link for link in links), name


@pytest.mark.slow
@pytest.mark.needs("sphinx")
def test_no_link_of_the_built_pages_is_dead(site):
    trees = {path: html.parse(path).getroot() for path in site.rglob("*.html")}
    anchors = {
        path: {*tree.xpath("//@id"), *tree.xpath("//a/@name")} for path, tree in trees.items()
    }
    assert len(trees) > 90
    dead = []
    for page, tree in trees.items():
        for link in tree.xpath("//a/@href | //img/@src | //link/@href | //script/@src"):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and anchor not in anchors.get(target, {anchor})):
                dead.append((page.relative_to(site).as_posix(), link))
    assert dead == []


@pytest.mark.slow
@pytest.mark.needs("sphinx")
@pytest.mark.needs("chromium")
def test_every_built_page_opens_without_an_error(site):
    """No script fails, no file is missing, nothing is asked of another server."""
    problems = []
    with chromium() as browser:
        tab = browser.new_page()
        tab.on("pageerror", lambda error: problems.append((tab.url, str(error))))
        tab.on("requestfailed", lambda request: problems.append((tab.url, request.url)))
        tab.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:"))
                or problems.append((tab.url, request.url))
            ),
        )
        for language, folder in (("en", site), ("zh-CN", site / "zh")):
            pages = set(folder.rglob("*.html"))
            if language == "en":
                pages -= set((site / "zh").rglob("*.html"))
            assert len(pages) > 45, language
            for page in sorted(pages):
                tab.goto(page.as_uri())
                assert tab.locator("html").get_attribute("lang") == language, page
                if page.stem not in ("genindex", "py-modindex", "search"):
                    assert tab.locator("article h1").first.inner_text().strip(), page
    assert problems == []
