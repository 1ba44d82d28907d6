"""The demonstration with planted causes: small, but real."""

import io
import json

from rich.console import Console

from regard.demo.series import planted_demo


def test_it_learns_and_finds_the_channels():
    console = Console(file=io.StringIO(), width=120)
    found = planted_demo(
        encoders=["transformer"], tokens=["channels"], train=2500, test=40, steps=120, threads=1,
        console=console,
    )  # fmt: skip
    (one,) = json.loads(json.dumps(found))["models"]
    assert one["accuracy"] >= 0.9
    assert one["causes"]["gradient"] >= 0.95 and one["causes"]["occlusion"] >= 0.95
    assert found["found"] == one["causes"]["gradient"]
    said = console.file.getvalue()
    assert "planted was" in said and "Share of 40 series" in said
