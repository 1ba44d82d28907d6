"""Blocks of lines translated by the workers of a Ray cluster, with Ray Data.

One task reads the file and cuts it into blocks; workers of one core each, which load the model
once, translate them in any order. Ray restarts a worker that dies and repeats its block. Without a
cluster (RAY_ADDRESS, or one that runs on this machine), Ray is started on this machine.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any

from regard.errors import InputError
from regard.formats.lines import one_line, read_lines
from regard.tasks.translation.bulk import Layout, LineBlock, input_blocks, translate_blocks
from regard.tasks.translation.translation import TranslateKeywords


@dataclass(frozen=True)
class FileBlocks:
    """The blocks of a file that are to be translated.

    path, encoding  the file, which every machine of the cluster must be able to read
    done            the number of lines at its beginning that are done
    finished        first lines of blocks after them that are done
    """

    path: str
    encoding: str
    done: int = 0
    finished: frozenset[int] = frozenset()

    def __call__(self) -> Iterator[Any]:
        """A table of one row for each block: the number of its first line, and its text."""
        import pyarrow

        lines = islice(read_lines(self.path, self.encoding, unchanging=False), self.done, None)
        for first, block in input_blocks(lines, self.done):
            if first not in self.finished:
                yield pyarrow.table({"first": [first], "text": ["\n".join(block)]})


def block_source(blocks: FileBlocks) -> Any:
    """Ray Data's reader of a file's blocks: one task, which streams."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    class BlockSource(Datasource):
        """Reads the blocks of one file."""

        def estimate_inmemory_data_size(self) -> int | None:
            """Unknown: the file may be compressed."""
            return None

        def get_read_tasks(self, *_: object, **__: object) -> list[ReadTask]:
            """The task that reads the file."""
            return [ReadTask(blocks, BlockMetadata(None, None, None))]

    return BlockSource()


def check_installed() -> None:
    """Raise an error if Ray Data is not installed."""
    for name in ("ray", "pyarrow"):
        if find_spec(name) is None:
            raise InputError(
                f"--backend ray needs the package {name}; `pip install 'regard[ray]'`."
            )


class BlockWorker:
    """Translates blocks on one core."""

    def __init__(
        self,
        folders: Sequence[str],
        loading: Mapping[str, Any],
        layout: Layout,
        options: TranslateKeywords,
    ) -> None:
        import torch

        from regard.tasks import load

        torch.set_num_threads(1)
        self.translator = load(folders, threads=1, **loading)
        self.layout, self.options = layout, options

    def __call__(self, batch: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
        """The rows of output of the blocks, beside their text."""
        output: dict[str, list[Any]] = {"first": [], "text": [], "rows": [], "num_copied": []}
        for first, text in zip(batch["first"], batch["text"], strict=True):
            lines = str(text).split("\n")
            done = list(
                translate_blocks(
                    self.translator, lines, self.layout, self.options, first=int(first)
                )
            )
            output["first"].append(int(first))
            output["text"].append(str(text))
            output["rows"].append("\n".join(one_line(row) for block in done for row in block.rows))
            output["num_copied"].append(sum(block.num_copied for block in done))
        return output


def translate_with_ray(
    blocks: FileBlocks,
    folders: Sequence[str],
    layout: Layout,
    options: TranslateKeywords,
    *,
    num_workers: int | None = None,
    loading: Mapping[str, Any] | None = None,
) -> Iterator[LineBlock]:
    """The output of blocks, in the order in which they are finished.

    folders      of the model or models, which every machine of the cluster must be able to read
    num_workers  most workers; as many as the cluster has cores by default
    loading      options of `regard.load`
    """
    check_installed()
    import ray
    import ray.data

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    num_cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    most = num_workers or num_cores
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_min_block_size = context.target_max_block_size = 1  # one row: one block of lines
    try:
        # the reader takes no core of its own: workers that wait for it may occupy all of them
        dataset = ray.data.read_datasource(
            block_source(blocks), num_cpus=0, override_num_blocks=1
        ).map_batches(
            BlockWorker,
            fn_constructor_args=(folders, dict(loading or {}), layout, options),
            batch_size=1,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(
                min_size=1, max_size=most, initial_size=min(most, num_cores)
            ),
        )
        for row in dataset.iter_rows():
            sources = row["text"].split("\n")
            rows = row["rows"].split("\n")
            yield LineBlock(int(row["first"]), sources, rows, int(row["num_copied"]))
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        line = str(cause).strip().splitlines()[-1]
        raise InputError(f"Ray: {line}") from error
