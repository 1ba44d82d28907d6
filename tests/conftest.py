"""One thread a worker, and hypothesis without deadlines and the same draws each time."""

import os
import signal

import hypothesis
import pytest

from browsers import chromium
from requirements import need


def pytest_configure(config):
    """Some virtual machines announce AMX and then refuse its instructions; torch dies of that.

    A forked process finds out before torch asks the processor here, and oneDNN is kept off AMX.
    """
    if config.getoption("dist", "no") != "no":
        return  # this process only hands out tests
    import torch

    torch.set_num_threads(1)
    if "ONEDNN_MAX_CPU_ISA" not in os.environ:
        child = os.fork()
        if not child:
            half = torch.ones(64, 64, dtype=torch.bfloat16)
            half @ half
            os._exit(0)
        if os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGILL:
            os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"


LONGEST = ("training", "demo", "test_readme.py", "tasks", "cli", "benchmarks", "server", "views")
"""Folders with long tests, which come first: what is left at the end is short for every worker."""


@pytest.hookimpl(tryfirst=True)  # before a plugin that shuffles
def pytest_collection_modifyitems(config, items):
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    tests = config.rootpath / "tests"

    def rank(item):
        inside = item.path.is_relative_to(tests)
        return ranks.get(item.path.relative_to(tests).parts[0] if inside else "", len(ranks))

    items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)  # before any fixture is made
def pytest_runtest_setup(item):
    """`needs` names the tools of `requirements.py` without which a test cannot run."""
    for mark in item.iter_markers("needs"):
        for tool in mark.args:
            need(tool)


hypothesis.settings.register_profile("regard", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.register_profile("random", deadline=None, max_examples=60, print_blob=True)
hypothesis.settings.load_profile("regard")


@pytest.fixture(autouse=True)
def seed():
    import torch

    torch.manual_seed(0)


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one
