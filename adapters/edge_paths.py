"""
Where the files of one state of an embedded index are.
"""

from __future__ import annotations

from pathlib import Path


class StateFolder:
    """
    One state of an index: generations, heads and ledgers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """
        Return what CURRENT calls it.
        """
        return self.path.name

    @property
    def heads(self) -> Path:
        """
        Return the file of all tenants' heads.
        """
        return self.path / "tenants.json"

    @property
    def build(self) -> Path:
        """
        Return the file that says that the state waits to be published.
        """
        return self.path / "build.json"

    @property
    def scrubbed(self) -> Path:
        """
        Return the file that names the first state without what was purged last.
        """
        return self.path / "scrubbed"

    def ledger(self, digest: str) -> Path:
        """
        Return the file of a tenant's ledger, by the hash of the tenant's name.
        """
        return self.path / "ledgers" / f"{digest}.json"

    def generations(self) -> list[str]:
        """
        Return the names of the generations, sorted.
        """
        folder = self.path / "generations"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def generation(self, generation: str) -> Path:
        """
        Return the folder of a generation.
        """
        return self.path / "generations" / generation

    def manifest(self, generation: str) -> Path:
        """
        Return the file of a generation's manifest.
        """
        return self.generation(generation) / "manifest.json"

    def shard(self, generation: str) -> Path:
        """
        Return the engine's own folder of a generation.
        """
        return self.generation(generation) / "shard"
