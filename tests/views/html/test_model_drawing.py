"""The drawing of a whole model: every matrix once, in the order of the computation."""

import math
from xml.etree import ElementTree

import pytest

from classified import classifier
from regard.cli import main
from regard.cli.info import weight_shapes
from regard.views.html.model_drawing import model_blocks, model_svg
from trained import trained

SVG = "{http://www.w3.org/2000/svg}"


def layer(name, *sizes):
    return {
        f"{name}.attention.query_proj.weight": sizes,
        f"{name}.around_attention.norm.bias": (2,),
    }


@pytest.mark.parametrize("kind", ["en-fr", "en-zh", "rnn", "lm", "mlm"])
def test_all_weights_of_a_model(kind, tmp_path, tmp_path_factory, capsys):
    folder, file = trained(kind, tmp_path_factory), tmp_path / "model.svg"
    assert main(["info", str(folder), "--picture", str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    shapes = weight_shapes(folder / "model.safetensors")
    columns = model_blocks(shapes)
    counted = sum(block.parameters for column in columns.values() for block in column)
    assert counted == sum(math.prod(shape) for shape in shapes.values())
    root = ElementTree.parse(file).getroot()
    texts = [text.text for text in root.iter(f"{SVG}text")]
    drawn = sum(len(block.matrices) for column in columns.values() for block in column)
    assert sum(e.get("class") == "matrix" for e in root.iter(f"{SVG}rect")) == drawn
    assert f"{kind}" in texts
    titles = [block.title for column in columns.values() for block in column]
    assert titles[0] == "embedding" and titles[-1].startswith("output")
    if kind == "rnn":
        assert "recurrence" in titles and "attention" in titles
    else:
        assert any(text.endswith("2 heads") for text in texts if text)


def test_a_classifier(tmp_path_factory):
    folder = classifier("text-en", tmp_path_factory)
    (column,) = model_blocks(weight_shapes(folder / "model.safetensors")).values()
    titles = [block.title for block in column]
    assert titles[0] == "embedding" and titles[-2:] == ["pooling", "output"]


def test_many_layers_of_one_shape_are_drawn_once():
    shapes = {}
    for number in range(5):
        shapes |= layer(f"layers.{number}", 4, 4)
    (column,) = model_blocks(shapes).values()
    assert [(block.title, block.layer) for block in column] == [
        ("self-attention", "5 layers like this")
    ]
    (column,) = model_blocks(shapes | layer("layers.5", 4, 8)).values()
    assert len(column) == 6


def test_names_are_text():
    svg = model_svg("<b>", "&", model_blocks({"words.<i>.weight": (2, 3)}))
    ElementTree.fromstring(svg)
    assert "<b>" not in svg and "<i>" not in svg


def test_what_cannot_be_drawn_is_one_sentence(tmp_path, tmp_path_factory, capsys):
    folder = str(trained("lm", tmp_path_factory))
    assert main(["info", folder, "--picture", str(tmp_path / "model.png")]) == 2
    assert "give the file a name that ends in .svg" in capsys.readouterr().err
    assert main(["info", folder, folder, "--picture", str(tmp_path / "model.svg")]) == 2
    assert "draws one model" in capsys.readouterr().err
