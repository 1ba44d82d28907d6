"""Back-translation and distillation: the pairs that models make, and going on after a stop."""

import json
import shutil

import pytest

import regard
from regard.cli import main
from regard.config import SearchOptions
from trained import regard as process
from trained import taught, trained


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained("en-fr", tmp_path_factory)


def lines_of(path):
    return path.read_text("utf-8").splitlines()


def test_backtranslation(model, tmp_path, capsys):
    """The translation is the source, the text itself the target; empty lines are left out."""
    texts = [source for source, _ in taught("en-fr")]
    mono = tmp_path / "mono.en"
    mono.write_text("\n".join([*texts[:5], "", *texts[5:]]) + "\n", encoding="utf-8")
    out = tmp_path / "synthetic.tsv"
    words = ["data", "backtranslate", mono, "--model", model, "--out", out, "--tag", "bt"]
    assert main([*map(str, words), "--threads", "1"]) == 0
    rows = [line.split("\t") for line in lines_of(out)]
    assert [target for _, target in rows] == texts
    right = dict(taught("en-fr"))
    assert sum(source == f"<bt> {right[target]}" for source, target in rows) >= 14
    said = capsys.readouterr().err
    assert "16 new pairs; 1 without text left out" in said and f"{out}:tag=bt" in said
    assert not list(tmp_path.glob("*.partial*"))


def test_samples_go_on_after_a_stop(model, tmp_path):
    """A file that was begun is continued, and is the same as without the stop."""
    translator = regard.load(model, threads=1, engine="torch")
    mono = tmp_path / "mono.en"
    mono.write_text("".join(f"{source}\n" for source, _ in taught("en-fr")), encoding="utf-8")
    settings = SearchOptions(sample=True, seed=4, temperature=2.0)
    whole, halves = tmp_path / "whole.jsonl", tmp_path / "halves.jsonl"

    def stop(lines):
        if lines:
            raise KeyboardInterrupt

    regard.data.backtranslate(mono, whole, model=translator, settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.tasks.data.synthesis.BLOCK_LINES", 8)
        with pytest.raises(KeyboardInterrupt):
            regard.data.backtranslate(
                mono, halves, model=translator, settings=settings, progress=stop
            )
    said = []
    assert len(lines_of(tmp_path / "halves.jsonl.partial")) == 8
    regard.data.backtranslate(mono, halves, model=translator, settings=settings, report=said.append)
    assert said == [f"{halves}.partial: continuing after line 8."]
    assert halves.read_bytes() == whole.read_bytes()
    assert json.loads(lines_of(whole)[0])["target"] == taught("en-fr")[0][0]
    assert len({json.loads(line)["source"] for line in lines_of(whole)}) > 8


class Watched(regard.Translator):
    """A translator that notes when a search begins."""

    def begin_segments(self, *arguments):
        self.events.append("search")
        return super().begin_segments(*arguments)


@pytest.mark.parametrize("make", [regard.data.backtranslate, regard.data.distill])
def test_a_block_is_searched_while_the_one_before_is_written(model, tmp_path, make, monkeypatch):
    monkeypatch.setattr("regard.tasks.data.synthesis.BLOCK_LINES", 6)
    translator = regard.load(model, threads=1)
    translator.__class__, translator.events = Watched, []
    mono = tmp_path / "mono.en"
    mono.write_text("".join(f"{source}\n" for source, _ in taught("en-fr")), encoding="utf-8")
    out = tmp_path / "out.tsv"
    make(
        mono,
        out,
        model=translator,
        progress=lambda lines: translator.events.append(lines) if lines else None,
    )
    assert translator.events == ["search", "search", 6, "search", 6, 4]
    assert len(lines_of(out)) == 16


def test_distillation(model, tmp_path, capsys):
    """Targets become the model's; the closest one may differ from the most probable."""
    pairs = taught("en-fr")
    path, out = tmp_path / "pairs.jsonl", tmp_path / "distilled.tsv"
    path.write_text(
        "".join(json.dumps({"source": s, "target": "Un autre."}) + "\n" for s, _ in pairs)
    )
    words = ["data", "distill", path, "--model", model, "--out", out, "--threads", "1"]
    assert main(list(map(str, words))) == 0
    right = sum(line == "\t".join(pair) for line, pair in zip(lines_of(out), pairs, strict=True))
    assert right >= 14
    best = lines_of(out)
    assert main([*map(str, words), "--closest", "--beam", "4"]) == 0
    closest = lines_of(out)
    assert len(closest) == len(best) and closest != best
    assert [line.split("\t")[0] for line in closest] == [source for source, _ in pairs]
    sources = tmp_path / "sources.en"
    sources.write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    regard.data.distill(sources, out, model=model)
    assert lines_of(out) == best
    for options, message in (
        ({"files": sources, "closest": True}, "needs targets"),
        ({"files": path, "closest": True, "settings": SearchOptions(beam=1)}, "a beam above 1"),
        ({"files": tmp_path / "none"}, "no such file"),
    ):
        with pytest.raises(regard.InputError, match=message):
            regard.data.distill(out=tmp_path / "new.tsv", model=model, **options)
    assert not (tmp_path / "new.tsv").exists()


def test_lines_of_unknown_origin_stay(model, tmp_path):
    """As a process: it stops before it overwrites what it did not write."""
    copied = shutil.copytree(model, tmp_path / "model")
    mono, out = tmp_path / "mono.en", tmp_path / "new.tsv"
    mono.write_text("The cat sleeps.\n")
    (tmp_path / "new.tsv.partial").write_text("x\ty\n")
    said = process("data", "backtranslate", mono, "--model", copied, "--out", out)
    assert said.returncode == 2 and "missing or damaged" in said.stderr
    assert not out.exists()
