"""Work shared by threads and forked processes."""

import os
import signal
import sys
import threading

import pytest
import torch

from processes import run
from regard.errors import InputError
from regard.worker_pool import can_fork, fork_map, parallel_map

forks = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")


def test_no_process_is_forked_beside_threads_of_a_library():
    code = (
        "from regard.cores import note_threads; from regard.worker_pool import can_fork; "
        "before = can_fork(); note_threads('ctranslate2'); print(before, can_fork())"
    )
    done = run(code=code)
    assert done.stdout.endswith("False\n"), done.stderr
    assert sys.platform != "linux" or torch.accelerator.is_available() or "True" in done.stdout


def square(number):
    return number * number, os.getpid()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 10_000])
@pytest.mark.parametrize("fork", [True, False])
def test_results_are_in_the_order_of_the_items(count, fork):
    found = parallel_map(square, range(count), 3, fork=fork)
    assert [value for value, _ in found] == [n * n for n in range(count)]


@forks
def test_processes_share_the_items_and_the_number_of_threads_is_restored():
    threads = torch.get_num_threads()
    meet = threading.Event()

    def wait(number):
        meet.wait(0.05)
        return square(number)

    assert len({pid for _, pid in fork_map(wait, range(8), 3)}) == 3
    assert torch.get_num_threads() == threads


@forks
def test_what_a_killed_process_did_not_return_is_computed_again():
    parent = os.getpid()

    def fragile(number):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert fork_map(fragile, range(20), 3) == list(range(20))


@forks
def test_errors_are_raised():
    def wrong(number):
        raise InputError(f"item {number} is wrong.")

    with pytest.raises(InputError, match="is wrong"):
        fork_map(wrong, range(4), 2)


@forks
def test_only_the_main_thread_forks():
    found = []
    thread = threading.Thread(
        target=lambda: found.extend(parallel_map(square, [1, 2], 2, fork=True))
    )
    thread.start()
    thread.join()
    assert {pid for _, pid in found} == {os.getpid()}
