"""
The folder of the embedded engine, as a service finds it at its start.
"""

from __future__ import annotations

from server.setting_rules import SettingUnusable
from server.settings import Settings


def make_data_folder(settings: Settings) -> None:
    """
    Make the folder of the embedded engine where it is missing; a Qdrant server has no use for it.

    Raises:
        SettingUnusable: It is a file, or cannot be made or looked into.
    """
    if settings.qdrant_url is not None:
        return
    folder = settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        next(folder.iterdir(), None)
    except (FileExistsError, NotADirectoryError) as error:
        problem = f"{folder} is a file, or lies in one; name a folder"
        raise SettingUnusable("data_dir", problem) from error
    except OSError as error:
        problem = (
            f"{folder} cannot be made or read ({error.strerror}); make it, let the service's user "
            "read it, or name another folder"
        )
        raise SettingUnusable("data_dir", problem) from error
