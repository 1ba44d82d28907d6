"""The demonstration with planted shapes: small, but real."""

import io
import json

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.cli import main
from regard.corpus.shapes import SHAPES, planted_shapes
from regard.demo.shapes import inside_share, shapes_demo
from regard.errors import InputError


def test_images_are_what_they_are_said_to_be():
    data = planted_shapes(40, seed=1)
    assert data.x.dtype == np.float32 and data.x.min() >= 0 and data.x.max() <= 1
    assert np.bincount(data.y).tolist() == [10] * len(SHAPES)
    again = planted_shapes(40, seed=1)
    assert np.array_equal(data.x, again.x) and not np.array_equal(data.x, planted_shapes(40).x)
    area = data.inside.sum(axis=(1, 2))
    assert area.min() > 20 and area.max() < 180
    for inside, x in zip(data.inside, data.x, strict=True):
        assert np.abs(x[:, inside] - np.median(x[:, inside], axis=1)[:, None]).mean() < 0.1
    with pytest.raises(InputError, match="size must be at least 17 pixels, got 9"):
        planted_shapes(1, size=9)
    with pytest.raises(InputError, match="count must be at least 1"):
        planted_shapes(0)


def test_a_place_counts_if_half_of_it_is_inside():
    inside = np.zeros((3, 4, 4), bool)
    inside[0, 2:, 2:] = inside[1, 2:, 2] = inside[2, 3, 3] = True
    heat = torch.zeros(3, 4)
    heat[:, 3] = 1
    assert inside_share(heat, inside) == pytest.approx(2 / 3)


def test_it_learns_and_finds_the_shapes(tmp_path):
    console = Console(file=io.StringIO(), width=120)
    result = shapes_demo(
        attentions=["cbam"], train=1000, test=100, steps=45, out=tmp_path, console=console
    )
    (scores,) = json.loads(json.dumps(result))["models"]
    assert scores["accuracy"] == result["accuracy"] >= 0.4
    assert scores["found"] == result["found"] >= 0.8
    assert (tmp_path / "shapes.png").read_bytes()[1:4] == b"PNG"
    assert "100 unseen images" in console.file.getvalue()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--attention full", "must be one of cbam, non-local, squeeze-excitation, got 'full'"),
        ("--kind rnn", "--kind belongs to the task"),
        ("--minutes 1", "--minutes belongs to the task"),
    ],
)
def test_bad_flags(flags, sentence, tmp_path, capsys):
    assert main(["demo", "--task", "shapes", "--out", str(tmp_path / "x"), *flags.split()]) == 2
    assert sentence in capsys.readouterr().err
