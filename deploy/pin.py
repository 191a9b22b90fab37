"""
Write the image's pinned requirements: `make requirements` after a change of dependencies.

`requirements.txt` is what the image runs: the product, traces, and what indexing files of other
formats and code needs, since the Job runs in the same image. `requirements-build.txt` is what
builds it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent
PROJECT = DEPLOY.parent / "pyproject.toml"
EXTRAS = ("formats", "code", "traces")
PLATFORM = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
HEAD = "# Written by deploy/pin.py; run `make requirements` after a change of dependencies.\n"


def wanted() -> dict[str, list[str]]:
    """
    Return the requirements that pyproject.toml names, by the file that pins them.
    """
    content = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = content["project"]
    extras = [one for name in EXTRAS for one in project["optional-dependencies"][name]]
    return {
        "requirements.txt": [*project["dependencies"], *extras],
        "requirements-build.txt": [*content["build-system"]["requires"], "pip"],
    }


def pinned(requirements: list[str]) -> str:
    """
    Return them and all that they need, each with its release and the hashes of its files.
    """
    shown = ("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "wanted.in"
        given.write_text("\n".join(requirements), encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes"]
        run = subprocess.run(
            [*command, *shown, *PLATFORM, str(given)], capture_output=True, text=True, check=False
        )
    if run.returncode:
        raise RuntimeError(f"uv could not pin the requirements:\n{run.stderr}")
    return HEAD + run.stdout


if __name__ == "__main__":
    for name, requirements in wanted().items():
        (DEPLOY / name).write_text(pinned(requirements), encoding="utf-8")
