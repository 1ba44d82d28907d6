"""The wheel and the sdist: every file of the package is in them, and the metadata are complete."""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import regard

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with a wheel and an sdist, built as `make dist` does."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tracked():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is not a git repository")
    return {path for path in done.stdout.splitlines() if (ROOT / path).exists()}


def test_the_wheel_has_every_file_of_the_package(built, tracked):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    package = {path.removeprefix("src/") for path in tracked if path.startswith("src/regard/")}
    assert package - names == set()
    assert {name.split("/")[0] for name in names - package} <= {
        "regard",  # files that are not tracked yet
        f"regard-{regard.__version__}.dist-info",
    }
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_sdist_has_every_file(built, tracked):
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert tracked - names == set()


def test_the_metadata(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Version"] == regard.__version__
    assert metadata["Summary"] == PROJECT["description"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["License-Expression"] == "Apache-2.0"
    described = metadata.get_payload(decode=True).decode()
    assert described.strip() == (ROOT / "README.md").read_text("utf-8").strip()


def test_the_citation_agrees_with_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == regard.__version__
    assert citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]


def test_what_make_installs_is_pinned():
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
    assert {"build", "twine", "hatchling", "torch"} <= set(pinned)
