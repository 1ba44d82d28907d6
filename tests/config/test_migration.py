"""Model folders of older formats: read as what they meant."""

import pytest
import yaml

from regard.config import (
    ClassifierSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    Run,
    TrainingSettings,
    TransformerSettings,
)
from regard.config.mechanisms import AdaptiveSpanSettings, LinformerSettings, LocalSettings
from regard.config.settings import read_settings, run_from
from regard.tasks import KINDS, load_run
from regard.tasks.handwriting.settings import HandwritingSettings

# the model sections that version 1 wrote; its other sections are unchanged
TRANSFORMER = """\
  kind: transformer
  dim: 16
  heads: 2
  encoder_layers: 1
  decoder_layers: 2
  decoder_attention: local
  ff: 32
  activation: relu
  norm: pre
  positions: sinusoidal
  tied: all
  dropout: 0.1
  attention_dropout: 0.0
  activation_dropout: 0.0
  max_length: 1024
  attention: linformer
  normalizer: softmax
  window: 5
  global_tokens: 0
  dilation: 1
  pattern: strided
  stride: 0
  summary: 1
  projected: 8
  chunk: 16
  buckets: 8
  rounds: 4
  features: 0
  span: 128
  ramp: 16
  span_penalty: 0.0
"""
LM = "  kind: lm\n  dim: 16\n  heads: 2\n  layers: 1\n  attention: adaptive-span\n  span: 32\n"
VERSION_1 = {
    TRANSFORMER: TransformerSettings(
        dim=16,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=2,
        ff=32,
        attention=LinformerSettings(projected=8),
        decoder_attention=LocalSettings(window=5),
    ),
    "  kind: rnn\n  encoder_layers: 2\n  decoder_layers: 3\n  attention: luong\n": RnnSettings(
        num_encoder_layers=2, num_decoder_layers=3, attention="luong"
    ),
    LM: LanguageModelSettings(
        dim=16, num_heads=2, num_layers=1, attention=AdaptiveSpanSettings(max_span=32)
    ),
    "  kind: mlm\n  heads: 4\n  layers: 3\n  window: 64\n": MaskedLanguageModelSettings(
        num_heads=4, num_layers=3
    ),
    "  kind: classifier\n  heads: 2\n  layers: 1\n  pooling_heads: 4\n": ClassifierSettings(
        num_heads=2, num_layers=1, num_pooling_heads=4
    ),
    "  kind: handwriting\n  layers: 3\n  stride: 0.1\n": HandwritingSettings(
        num_layers=3, stride=0.1
    ),
}
TOP = "format_version: 1\nlanguages: en-fr\nmodel:\n"
BOTTOM = "training:\n  epochs: 3\n"


@pytest.mark.parametrize("section", VERSION_1, ids=lambda text: text.split()[1])
def test_folders_of_version_1(section, tmp_path):
    (tmp_path / "config.yaml").write_text(TOP + section + BOTTOM, "utf-8")
    run = load_run(tmp_path)
    assert run == Run("en-fr", VERSION_1[section], training=TrainingSettings(epochs=3))


def test_a_settings_file_of_version_1(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(TOP + TRANSFORMER, "utf-8")
    assert read_settings(path)["model"]["num_heads"] == 2
    assert run_from(read_settings(path), KINDS).model == VERSION_1[TRANSFORMER]


def test_a_settings_file_without_a_version_is_of_the_present_one(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"model": {"num_heads": 2}}), "utf-8")
    assert read_settings(path) == {"model": {"num_heads": 2}}
