"""Small models, loaded."""

import pytest

from regard.tasks import load
from trained import trained


def opened(name):
    @pytest.fixture(scope="session", name=name.replace("-", "_"))
    def model(tmp_path_factory):
        return load(trained(name, tmp_path_factory), threads=1)

    return model


en_fr, en_zh, rnn, lm, mlm = map(opened, ("en-fr", "en-zh", "rnn", "lm", "mlm"))
