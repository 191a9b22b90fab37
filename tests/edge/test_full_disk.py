"""
A disk that is full while an embedded index is published: what is served stays served, and the next
run needs nothing but room.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.edge_files import IndexFolder
from cli.demo import serving
from server.settings import Settings

# Set by the child itself: code between fork and exec aborts now and then where gRPC has threads.
LIMITED = """
import resource, sys
from cli.main import main
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
main()
"""


@dataclass
class Disk:
    """
    A folder of documents, and a disk that indexes are written to.
    """

    documents: Path
    data: Path

    def index(self, name: str, *, most_file_bytes: int | None = None) -> tuple[int, str]:
        """
        Return exit code and output of a run whose files cannot grow beyond so many bytes.
        """
        most = resource.RLIM_INFINITY if most_file_bytes is None else most_file_bytes
        command = (sys.executable, "-c", LIMITED, str(most), "index")
        run = subprocess.run(
            [*command, str(self.documents), "--index", name],
            env={**os.environ, "CONTEXT_ASSEMBLER_DATA_DIR": str(self.data), "COLUMNS": "500"},
            capture_output=True,
            text=True,
            check=False,
        )
        return run.returncode, run.stdout + run.stderr


@pytest.fixture
def disk(tmp_path: Path, model_folder: Path, tokenizer_folder: Path) -> Disk:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "fines.md").write_text("# Fines\n\nFines are never paid back.\n", "utf-8")
    return Disk(documents, tmp_path / "data")


def test_a_full_disk_changes_nothing_of_what_is_served(disk: Disk, settings: Settings) -> None:
    assert disk.index("docs")[0] == 0
    mine = settings.model_copy(update={"data_dir": disk.data})
    states = IndexFolder(disk.data, "docs").current().path.parent
    asked = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="How are trains booked?")],
        targets=[service_pb.Target(index="docs")],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=100),
        fill=pb.FILL_FULL,
    )
    with serving(mine) as address, ContextAssemblerClient(address) as client:
        before = client.assemble_context(asked)
        (disk.documents / "trains.md").write_text("# Trains\n\nTrains run at night.\n", "utf-8")

        code, output = disk.index("docs", most_file_bytes=100_000)

        assert code == 1
        assert "cannot be written" in output
        assert "space for a second copy" in output
        assert [path.name for path in states.iterdir()] == ["00000001"]
        assert client.assemble_context(asked).context == before.context

        assert disk.index("docs")[0] == 0
        asked.targets[0].scope.at_least = before.index_versions[0].removesuffix("1") + "2"
        assert "Trains run at night." in client.assemble_context(asked).context


def test_a_disk_without_room_for_a_new_index_is_named(disk: Disk) -> None:
    code, output = disk.index("docs", most_file_bytes=100_000)

    assert code == 1
    assert "the disk of index 'docs' is full or a file is too large" in output
    assert "make room and try again" in output

    assert disk.index("docs")[0] == 0
