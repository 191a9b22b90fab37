"""
Check the model and the tokenizers that go into the image, and list their hashes beside them.

`python deploy/check_assets.py FOLDER`, the folder with `models` and `tokenizers`; run by the build.
"""

from __future__ import annotations

import sys
from pathlib import Path

from adapters.model_files import read_description, sha256_of
from adapters.tokenizer_files import RANKS, rank_path

LIST = "assets.sha256"


def check(folder: Path) -> str:
    """
    Return the hash of every file, as sha256sum writes it.

    Raises:
        SystemExit: A model's file is not the one that it was exported with, or the ranks of an
            encoding are not those that tiktoken demands.
        EmbedderUnavailable: A model folder is damaged.
    """
    models = sorted((folder / "models").iterdir())
    if not models:
        raise SystemExit(f"no model in {folder / 'models'}; run `context-assembler model export`")
    for model in models:
        read_description(model)
    for name, expected in RANKS.items():
        ranks = rank_path(folder / "tokenizers", name)
        if not ranks.is_file() or sha256_of(ranks) != expected:
            raise SystemExit(f"{ranks} is not what tiktoken demands; run `context-assembler demo`")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LIST)
    return "".join(f"{sha256_of(path)}  {path.relative_to(folder)}\n" for path in files)


if __name__ == "__main__":
    root = Path(sys.argv[1])
    (root / LIST).write_text(check(root), encoding="utf-8")
