"""The demonstration with planted causes: small, but real."""

import io
import json

from rich.console import Console

from regard.demo.event_location import planted_demo


def test_it_learns_and_finds_the_channels():
    console = Console(file=io.StringIO(), width=120)
    result = planted_demo(
        encoders=["transformer"],
        tokens=["channels"],
        train=2500,
        test=40,
        steps=120,
        threads=1,
        console=console,
    )
    (scores,) = json.loads(json.dumps(result))["models"]
    assert scores["accuracy"] >= 0.9
    assert scores["causes"]["gradient"] >= 0.95 and scores["causes"]["occlusion"] >= 0.95
    assert result["found"] == scores["causes"]["gradient"]
    printed = console.file.getvalue()
    assert "planted was" in printed and "Share of 40 series" in printed
