"""
What many tests share: the exported model, the tokenizers, and one running service.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from contextassembler.client import ContextAssemblerClient
from filelock import FileLock
from hypothesis import settings as hypothesis_settings
from rich.console import Console

from adapters.model_export import export_model
from adapters.model_files import read_description
from adapters.tokenizer_files import install_tokenizers
from assembler.errors import EmbedderUnavailable
from cli.demo import handbook_request, serving
from cli.index import index_paths
from indexer.request import Summary
from server.settings import Settings

# a change is judged by the same examples every time; new ones are looked for on desks; and no test
# is timed: a busy machine is no fault
hypothesis_settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis_settings.register_profile("desk", deadline=None)
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "desk")

ROOT = Path(__file__).parents[1]
VAR = ROOT / "var"


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """
    Return the exported default model, made once.
    """
    folder = VAR / "models" / "all-minilm-l6-v2"
    VAR.mkdir(exist_ok=True)
    with FileLock(VAR / "model.lock"):
        try:
            read_description(folder)
        except EmbedderUnavailable:
            export_model(None, folder)
    return folder


@pytest.fixture(scope="session")
def tokenizer_folder() -> Path:
    """
    Return the folder of the installed tokenizer files.
    """
    folder = VAR / "tokenizers"
    VAR.mkdir(exist_ok=True)
    with FileLock(VAR / "tokenizers.lock"):
        install_tokenizers(folder)
    return folder


@pytest.fixture(scope="session")
def settings(
    model_folder: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """
    Return settings with an index folder of this run, of a service that lets callers wait.

    On a busy machine a call can wait long for its turn. Tests of what happens then say so.
    """
    return Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        max_wait_seconds=60.0,
        drain_delay_seconds=0.0,
        model_dir=model_folder,
        tokenizer_dir=tokenizer_folder,
    )


@pytest.fixture(scope="session")
def handbook(settings: Settings) -> Summary:
    """
    Return the summary of indexing the example handbook.
    """
    return index_paths(handbook_request(), settings, Console(quiet=True))


@pytest.fixture(scope="session")
def address(settings: Settings, handbook: Summary) -> Iterator[str]:
    """
    Return the address of a running service, in a process of its own, over the handbook.
    """
    assert handbook.is_published
    with serving(settings) as where:
        yield where


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[ContextAssemblerClient]:
    """
    Return a client of the running service.
    """
    with ContextAssemblerClient(address, timeout_seconds=30) as made:
        yield made
