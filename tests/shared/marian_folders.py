"""A MarianMT of drawn weights that `transformers` saves, with SentencePiece models of its own."""

import io
import json

import sentencepiece
import torch

from regard.corpus.grammar import sample

PAIRS = [(pair.source, pair.target) for pair in sample("train", 60, seed=3, max_words=10)]


def save_marian(folder, *, model_type="unigram", **settings):
    """Write a folder as OPUS-MT's are (</s> 0, <unk> 1, …, <pad> last); returns the model."""
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir()
    sides = [spm(lines, 120, model_type) for lines in zip(*PAIRS, strict=True)]
    learned = sorted({piece for side in sides for piece in pieces(side)} - {"</s>", "<unk>"})
    learned = [piece for piece in learned if piece != learned[7]]  # which is thus unknown
    vocabulary = ["</s>", "<unk>", ">>fra<<", *learned, "<pad>"]
    for name, side in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(side)
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    about = {"source_lang": "eng", "target_lang": "fra", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    pad = len(vocabulary) - 1
    config = MarianConfig(
        **{
            "vocab_size": len(vocabulary),
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 3,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 20,
            "decoder_ffn_dim": 20,
            "max_position_embeddings": 50,
            "activation_function": "swish",
            "scale_embedding": True,
            "static_position_embeddings": True,
            "pad_token_id": pad,
            "decoder_start_token_id": pad,
            "eos_token_id": 0,
            "forced_eos_token_id": None,
            "init_std": 0.3,
            "num_beams": 4,
            "bad_words_ids": [[pad]],
            **settings,
        }
    )
    torch.manual_seed(1)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_(std=0.3)
        for name, weight in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                weight.add_(0.1 * torch.randn_like(weight))
    model.save_pretrained(folder)
    return model


def spm(lines, size, model_type):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        model_type=model_type,
        minloglevel=2,
        num_threads=1,
        bos_id=-1,
    )
    return model.getvalue()


def pieces(model):
    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return [processor.id_to_piece(number) for number in range(len(processor))]
