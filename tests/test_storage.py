"""Atomic writes: through links, to pipes, and with the names that users gave."""

import os
import threading

import pytest
import torch

from regard.errors import InputError
from regard.folder import save_weights
from regard.storage import atomic_folder, atomic_path, check_new_folder, replace_file
from regard.training.run_files import check_place


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    replace_file(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_written_to(tmp_path):
    pipe, came = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: came.append(pipe.read_text()))
    reader.start()
    replace_file(pipe, "text")
    reader.join(10)
    assert came == ["text"]
    assert pipe.is_fifo()


def test_errors_name_the_file_that_was_given(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        replace_file(tmp_path / "no" / "file", "text")
    assert raised.value.filename == str(tmp_path / "no" / "file")


def test_weights_have_the_rights_of_any_new_file(tmp_path):
    """safetensors gives them to their owner only, and another user could not serve the model."""
    plain, weights = tmp_path / "plain", tmp_path / "model.safetensors"
    plain.touch()
    for _ in range(2):  # new, and in the place of another
        save_weights(weights, {"a": torch.ones(2)})
        assert weights.stat().st_mode == plain.stat().st_mode


def test_a_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(path) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_whole_or_not_there(tmp_path):
    with pytest.raises(OSError, match="full"), atomic_folder(tmp_path / "new") as draft:
        (draft / "first").write_text("a")
        raise OSError("the disk is full")
    assert not list(tmp_path.iterdir())
    (tmp_path / "new").mkdir()  # an empty one may be there
    with atomic_folder(tmp_path / "new") as draft:
        (draft / "first").write_text("a")
        assert not list((tmp_path / "new").iterdir())
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "first"]


@pytest.mark.parametrize("check", [check_new_folder, check_place])
def test_a_model_folder_has_a_name_that_weights_can_be_read_from(check, tmp_path):
    check(tmp_path / "é")
    with pytest.raises(InputError, match="the name of this folder is not UTF-8; give another"):
        check(tmp_path / os.fsdecode(b"a\xff"))


def test_text_may_name_a_file_that_is_no_utf8(tmp_path):
    replace_file(tmp_path / "file", os.fsdecode(b"a\xff"))
    assert (tmp_path / "file").read_text() == r"a\udcff"
