"""
Packed model files are read as they were written, or refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.models.packed import PackedInvalid, dequantised, read_packed
from tests.packed_model import HIDDEN, PIECES, POSITIONS, SCORES, tensors, write_packed


def test_a_packed_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    packed = read_packed(write_packed(tmp_path / "model.bin"))

    assert (packed.hidden, packed.layers, packed.heads) == (HIDDEN, 1, 2)
    assert (packed.bos, packed.pad, packed.eos, packed.unknown) == (0, 1, 2, 3)
    assert packed.epsilon == pytest.approx(1e-12)
    assert packed.pieces == tuple(zip(PIECES, SCORES, strict=True))
    assert packed.tensors.keys() == tensors().keys()
    positions = packed.tensor("emb.pos", POSITIONS, HIDDEN)
    np.testing.assert_array_equal(
        positions.reshape(-1), np.frombuffer(tensors()["emb.pos"][2], "f")
    )


def test_low_halves_of_a_block_come_first() -> None:
    raw = np.float16(0.5).tobytes() + bytes([0x80] + 14 * [0x88] + [0xF0])

    values = dequantised(raw).tolist()

    assert values == [-4.0, *14 * [0.0], -4.0, *15 * [0.0], 3.5]


@pytest.mark.parametrize("wrong", [{"version": 2}, {"block": 64}])
def test_another_version_or_block_is_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    path = write_packed(tmp_path / "model.bin", **wrong)

    with pytest.raises(PackedInvalid, match=str(*wrong.values())):
        read_packed(path)


@pytest.mark.parametrize("size", [6, 60, 200, 400, 5000])
def test_a_file_that_ends_early_is_refused(tmp_path: Path, size: int) -> None:
    path = write_packed(tmp_path / "model.bin")
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(PackedInvalid):
        read_packed(path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"GGUF and more")

    with pytest.raises(PackedInvalid, match="E5S1"):
        read_packed(tmp_path / "model.bin")


def test_a_tensor_that_is_missing_or_of_another_size_is_named(tmp_path: Path) -> None:
    packed = read_packed(write_packed(tmp_path / "model.bin"))

    with pytest.raises(PackedInvalid, match=r"l1\.q\.w"):
        packed.tensor("l1.q.w", HIDDEN, HIDDEN)
    with pytest.raises(PackedInvalid, match=r"emb\.ln\.w"):
        packed.tensor("emb.ln.w", HIDDEN + 1)
