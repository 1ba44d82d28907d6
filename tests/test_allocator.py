"""`give_back_memory` returns freed memory to the system."""

import platform

import pytest

from regard.allocator import give_back_memory, resident_bytes

BLOCK, COUNT = 100_000, 2000  # bytes that the C library takes from an arena


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_free_blocks_below_one_in_use_are_given_back():
    blocks = [bytearray(b"x" * BLOCK) for _ in range(COUNT)]
    last = blocks.pop()
    blocks.clear()
    before = resident_bytes()
    give_back_memory()
    assert resident_bytes() < before - BLOCK * COUNT // 2
    assert last
