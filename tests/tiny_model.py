"""
A CrossEncoder that is made in a second and says nothing of meaning, but is always the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = ["refund", "is", "paid", "never", "fine", "train", "oslo", "a", "who", "[", "]"]


def tiny_cross_encoder(folder: Path, *, labels: int) -> Path:
    """
    Write a random model of one layer and a few words; return its folder.
    """
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join([*special, *WORDS]) + "\n", encoding="utf-8")
    config = transformers.BertConfig(
        vocab_size=len(special) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=48,
        num_labels=labels,
        initializer_range=1.0,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
