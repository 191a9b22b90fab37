"""
The folder of the embedded engine: made where it is missing, refused by name where it cannot be.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from server.data_folder import make_data_folder
from server.setting_rules import SettingUnusable
from server.settings import Settings


def test_a_missing_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    folder = tmp_path / "var" / "data"

    make_data_folder(Settings(data_dir=folder))
    make_data_folder(Settings(data_dir=folder))

    assert folder.is_dir()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("below", ["", "data"])
def test_a_file_is_refused_by_name(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")

    with pytest.raises(SettingUnusable) as caught:
        make_data_folder(Settings(data_dir=file / below))

    assert str(caught.value) == (
        f"CONTEXT_ASSEMBLER_DATA_DIR: {file / below} is a file, or lies in one; name a folder"
    )


def test_a_folder_that_cannot_be_made_is_told_with_the_remedy() -> None:
    with pytest.raises(SettingUnusable, match="_DATA_DIR: /proc/x/data cannot be made or read"):
        make_data_folder(Settings(data_dir=Path("/proc/x/data")))


def test_a_service_of_a_server_makes_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    make_data_folder(Settings(data_dir=folder, qdrant_url="http://127.0.0.1:1"))

    assert not folder.exists()
