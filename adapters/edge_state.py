"""
The files of one state of an embedded index: heads, ledgers and manifests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from adapters.edge_files import write_durably
from adapters.edge_paths import StateFolder
from adapters.head import Build, Head
from adapters.ledger import (
    BUILD,
    FORMAT,
    HEADS,
    MANIFEST,
    REVISIONS,
    ROWS,
    TOMBSTONES,
    plain,
    read_record,
    read_text,
    require_format,
    tenant_ledger,
)
from adapters.records import TenantLedger
from adapters.store import Manifest
from assembler.errors import IndexUnusable


def read_heads(index: str, state: StateFolder) -> tuple[dict[str, Head], str | None]:
    """
    Return the heads of all tenants, and the generation that was published last.

    Raises:
        IndexUnusable: The file is damaged, or was written by a newer release.
    """
    if not state.heads.exists():
        return {}, None
    stored = _read(index, state.heads)
    newest = stored.get("newest")
    if not isinstance(newest, str):
        raise IndexUnusable(index, f"{state.heads.name} is damaged; publish the index again")
    return read_record(HEADS, index, state.heads.name, stored.get("tenants")), newest


def read_scrubbed(index: str, state: StateFolder) -> str:
    """
    Return the name of the first state without what was purged last; "" where nothing ever was.

    Raises:
        IndexUnusable: The file cannot be read.
    """
    try:
        return state.scrubbed.read_text().strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{state.scrubbed.name} is damaged; publish the index again"
        raise IndexUnusable(index, problem) from error


def read_manifests(index: str, state: StateFolder) -> dict[str, Manifest]:
    """
    Return the manifests by generation.

    Raises:
        IndexUnusable: A file is damaged, or was written by a newer release.
    """
    manifests = {}
    for generation in state.generations():
        path = state.manifest(generation)
        stored = _read(index, path)
        manifest = read_record(MANIFEST, index, path.name, stored.get("manifest"))
        require_format(index, manifest.format_version)
        manifests[generation] = manifest
    return manifests


def read_ledger(index: str, state: StateFolder, tenant: str, head: Head) -> TenantLedger:
    """
    Return everything known of one tenant's part.

    Raises:
        IndexUnusable: The file is damaged, or was written by a newer release.
    """
    path = state.ledger(_digest(tenant))
    if head.revision == 0 and not path.exists():
        return tenant_ledger(head, (), ())
    stored = _read(index, path)
    rows = read_record(ROWS, index, path.name, stored.get("rows"))
    revisions = read_record(REVISIONS, index, path.name, stored.get("revisions"))
    tombstones = read_record(TOMBSTONES, index, path.name, stored.get("tombstones", []))
    return tenant_ledger(head, rows, revisions, tombstones)


def write_manifest(state: StateFolder, manifest: Manifest) -> None:
    """
    Write the manifest of a generation.
    """
    path = state.manifest(manifest.generation)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, {"manifest": plain(MANIFEST, manifest)})


def write_ledger(state: StateFolder, tenant: str, ledger: TenantLedger) -> None:
    """
    Write a tenant's ledger.
    """
    path = state.ledger(_digest(tenant))
    path.parent.mkdir(exist_ok=True)
    _write(
        path,
        {
            "tenant": tenant,
            "rows": plain(ROWS, (*ledger.rows, *ledger.earlier)),
            "revisions": plain(REVISIONS, ledger.revisions),
            "tombstones": plain(TOMBSTONES, ledger.tombstones),
        },
    )


def write_heads(state: StateFolder, heads: Mapping[str, Head], newest: str) -> None:
    """
    Write the heads of all tenants, and the generation that was published last.
    """
    _write(state.heads, {"newest": newest, "tenants": plain(HEADS, dict(heads))})


def write_build(state: StateFolder, tenant: str, build: Build) -> None:
    """
    Write that the state waits to be published.
    """
    _write(state.build, {"tenant": tenant, "build": plain(BUILD, build)})


def read_build(index: str, state: StateFolder) -> tuple[str, Build]:
    """
    Return the tenant whose build waits, and the build.

    Raises:
        IndexUnusable: The file is damaged, or was written by a newer release.
    """
    stored = _read(index, state.build)
    build = read_record(BUILD, index, state.build.name, stored.get("build"))
    return str(stored.get("tenant")), build


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_durably(path, json.dumps({"format": FORMAT, **content}, ensure_ascii=False, indent=1))


def _read(index: str, path: Path) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{path.name} is missing or damaged; publish the index again"
        raise IndexUnusable(index, problem) from error
    stored = read_text(index, path.name, text)
    if not isinstance(stored, dict):
        raise IndexUnusable(index, f"{path.name} is damaged; publish the index again")
    require_format(index, stored.get("format"))
    return stored


def _digest(tenant: str) -> str:
    return hashlib.sha256(tenant.encode()).hexdigest()[:32]
