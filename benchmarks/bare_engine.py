"""A plain loop around CTranslate2 in int8: SentencePiece, search, SentencePiece.

    python -m benchmarks.bare_engine FOLDER INPUT OUTPUT BEAM INTER_THREADS INTRA_THREADS BATCH

FOLDER has model.bin of CTranslate2 and tokenizer.model. All lines are given to CTranslate2 in one
call, which sorts them by length and makes batches of up to BATCH lines.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ctranslate2 import Translator
from sentencepiece import SentencePieceProcessor


def main(
    folder: str, source: str, output: str, beam: int, inter: int, intra: int, batch: int
) -> None:
    """Translate the lines of a file."""
    tokenizer: Any = SentencePieceProcessor(model_file=str(Path(folder) / "tokenizer.model"))
    engine: Any = Translator(folder, device="cpu", inter_threads=inter, intra_threads=intra)
    lines = Path(source).read_text("utf-8").split("\n")[:-1]
    tokens = [[*pieces, "</s>"] for pieces in tokenizer.encode(lines, out_type=str)]
    results = engine.translate_batch(tokens, beam_size=beam, max_batch_size=batch)
    texts = tokenizer.decode([result.hypotheses[0] for result in results])
    Path(output).write_text("".join(f"{text}\n" for text in texts), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))  # type: ignore[arg-type]  # three words
