"""Small models, and a server that most tests share."""

import pytest

from regard.server.queue.catalogue import Catalogue
from servers import serving
from trained import trained


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory):
    folders = [str(trained(name, tmp_path_factory)) for name in ("en-fr", "rnn", "en-zh")]
    return Catalogue(folders, threads=1)


@pytest.fixture(scope="session")
def client(catalogue):
    with serving(catalogue) as one:
        yield one
