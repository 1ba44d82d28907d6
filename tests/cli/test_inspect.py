"""`regard inspect`: the page of each kind of model, figures, and what it refuses."""

import json
import re
import shutil
import subprocess
import sys
import webbrowser
from html import unescape

import pytest
from playwright.sync_api import expect

from regard.config import Run
from regard.folder import save_run
from regard.tasks.handwriting.settings import HandwritingSettings
from trained import taught, trained

PAIRS = taught("en-fr")
TEXT, OTHER = PAIRS[0][0], PAIRS[1][0]


@pytest.fixture(scope="session")
def rnn(tmp_path_factory):
    return str(trained("rnn", tmp_path_factory))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def facts(said):
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_the_page_and_how_to_open_it(regard, en_fr, here, monkeypatch):
    said = regard("inspect", f"{TEXT} {OTHER}", "--model", en_fr)
    page = here / "regard-inspect.html"
    assert said.code == 0
    assert "regard-inspect.html: 2 texts, " in said.out
    assert f"open {page} in a browser" in said.out
    html = unescape(page.read_text("utf-8"))
    assert TEXT in html and PAIRS[1][1] in html
    assert not re.search(r"""(src|href)=["']?https?:""", html)
    assert [path.name for path in here.iterdir()] == [page.name]
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert regard("inspect", TEXT, "--model", en_fr, "--open").code == 0
    assert opened == [page.as_uri()]


def test_facts_as_json(regard, en_fr, here):
    found = facts(regard("inspect", TEXT, OTHER, "--model", en_fr, "--out", "a.html", "--json"))
    assert found["file"] == "a.html" and found["texts"] == 2
    assert found["bytes"] == (here / "a.html").stat().st_size
    assert found["tokens"] > 10 and found["seconds"] > 0 and found["figures"] == []
    assert found["maps"] % 2 == 0 and found["maps"] > 0
    assert [-1 <= figure <= 1 for figure in found["faithfulness"]] == [True]


def test_texts_of_a_file_and_of_standard_input(regard, en_fr, here):
    (here / "some.txt").write_text(f"{TEXT}\n\n{OTHER}\n", "utf-8")
    words = ["inspect", "--model", en_fr, "--json"]
    assert facts(regard(*words, "--input", "some.txt"))["texts"] == 2
    assert facts(regard(*words, stdin=f"{TEXT}\n{OTHER}".encode()))["texts"] == 2
    assert facts(regard(*words, "--no-split", stdin=f"{TEXT}\n{OTHER}".encode()))["texts"] == 1


def test_two_models_side_by_side(regard, en_fr, rnn, here):
    words = ["inspect", TEXT, "--model", en_fr, "--against", rnn, "--reference", PAIRS[0][1]]
    said = regard(*words)
    assert said.code == 0 and "1 text," in said.out
    html = unescape((here / "regard-inspect.html").read_text("utf-8"))
    assert "Transformer" in html and "recurrent network, bahdanau attention" in html
    assert PAIRS[0][1] in html


def test_other_kinds_of_models(regard, lm, mlm, here):
    found = facts(regard("inspect", "The", "--model", lm, "--generate", 5, "--json"))
    assert 3 <= found["tokens"] <= 12
    assert len(found["faithfulness"]) == 1
    said = regard("inspect", "The [MASK] was playing.", "--model", mlm)
    assert said.code == 0
    assert re.search(r"rank correlation -?\d\.\d\d between a token's weight and the", said.out)
    assert "[MASK] 1:" in (here / "regard-inspect.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "text", "kind", "more"),
    [
        ("rnn", TEXT, "cross", ["alignment"]),
        (
            "mlm",
            "The [MASK] was playing.",
            "encoder",
            ["encoder-distance", "encoder-rollout", "positions"],
        ),
    ],
)
def test_figures(regard, request, here, name, text, kind, more):
    words = ["inspect", text, "--model", request.getfixturevalue(name), "--effects", "--json"]
    found = facts(regard(*words, "--figures", "new/drawn", "--format", "svg"))
    wanted = {f"{kind}-{what}" for what in ("heads", "layer-0", "entropy", "gradient", "effects")}
    files = {here / "new/drawn" / f"{name}.svg" for name in wanted | set(more)}
    assert {here / path for path in found["figures"]} == files
    assert all(path.read_bytes().startswith(b"<?xml") for path in files)


def test_without_matplotlib_figures_say_what_to_install(en_fr, here):
    code = (
        "import importlib.util, sys\n"
        "plain = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'matplotlib' else plain(n, *a)\n"
        "from regard.cli import main\n"
        f"sys.exit(main(['inspect', 'x', '--model', {en_fr!r}, '--figures', 'drawn']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    assert done.returncode == 2
    assert "pip install regard[figures]" in done.stderr and done.stderr.count("\n") == 1
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no text to look at"),
        (["  "], "there is no text to look at"),
        (["x", "--input", "y"], "text and --input were both given"),
        (["x", "--out", "none/page.html"], "there is no such folder"),
        (["x", "--out", "."], "this is a folder"),
        (["x", "--effects"], "--effects is about figures"),
        (["x", "--format", "pdf"], "--format is about figures"),
        (["x"] * 301, "a page holds at most 300 sentences, got 301"),
        (["A dog. " * 301], "a page holds at most 300 sentences, got 301"),
        (["a " * 200, "--no-split"], "leave --no-split out, or give a shorter text"),
        (["--input", "none.txt"], "none.txt: there is no such file"),
        (["x", "--model", "none"], "there is no such folder"),
        (["x", "--against", "none"], "there is no such folder"),
        (["x", "--generate", "3"], "only a language model can continue"),
        ([TEXT, OTHER, "--reference", "y"], "--reference is the translation of one sentence"),
        (["x", "--figures", "a-file"], "this is a file"),
    ],
)
def test_it_refuses_and_writes_nothing(refused, en_fr, here, words, message):
    (here / "a-file").write_text("")
    model = [] if "--model" in words else ["--model", en_fr]
    assert message in refused("inspect", *words, *model)
    assert [path.name for path in here.iterdir()] == ["a-file"]


def test_flags_and_texts_that_a_language_model_has_no_use_for(refused, lm, here):
    for flags in (["--reference", "b"], ["--beam", "2"], ["--max-length", "5"]):
        said = refused("inspect", "a", "--model", lm, *flags)
        assert f"{flags[0]} is of no use here" in said
    long = "word " * 60
    assert "text 2: the text has" in refused("inspect", "a", long, "--model", lm)
    assert list(here.iterdir()) == []


def test_models_that_do_not_go_together(refused, en_fr, lm, here):
    said = refused("inspect", "x", "--model", en_fr, "--against", lm)
    assert "two models of one kind can be compared" in said
    assert "tokens, but the model holds 47" in refused("inspect", TEXT * 30, "--model", lm)
    pen = here / "pen"
    pen.mkdir()
    save_run(pen, Run(languages="en", model=HandwritingSettings()))
    assert "is looked at with `regard write`" in refused("inspect", "x", "--model", pen)
    assert list(here.iterdir()) == [pen]


@pytest.mark.needs("chromium")
def test_the_file_in_a_browser(browser, regard, en_fr, here):
    bad = "<img src=x onerror=window.bad=1>"
    named = here / bad
    shutil.copytree(en_fr, named, ignore=shutil.ignore_patterns("checkpoints"))
    assert regard("inspect", TEXT, bad, "--model", named).code == 0
    said, asked = [], []
    tab = browser.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((here / "regard-inspect.html").as_uri())
    word = tab.locator(".words.target .word").first
    word.hover()
    expect(tab.locator(".readout").first).to_contain_text("%")
    readout = tab.locator(".readout").first.inner_text()
    assert readout.startswith(word.inner_text().split()[0]) and "%" in readout
    assert tab.locator("body").inner_text().count(bad) >= 2  # the model's name, the text
    assert tab.evaluate("window.bad") is None and tab.locator("img").count() == 0
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
