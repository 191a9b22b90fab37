"""
The overlays as kubectl renders them, and what they are made of.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from tests.deploy.names import DEPLOY

KUBECTL = shutil.which("kubectl")
OVERLAYS = ("dev", "prod", "prod-tls", "example")
PARTS = {
    "dev": ("base", "overlays/dev"),
    "prod": ("base", "overlays/prod"),
    "prod-tls": ("base", "overlays/prod", "components/mutual-tls"),
    "example": ("base", "overlays/prod", "overlays/example"),
}
"""What gives an overlay its variables, each over those before."""

KUBERNETES = ("1.30", "1.37")
"""The oldest version that is supported, and the newest whose schemas there are."""

Objects: TypeAlias = "list[dict[str, Any]]"

needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on PATH")


@lru_cache
def rendered(overlay: str) -> str:
    return built(DEPLOY / "overlays" / overlay)


def built(folder: Path) -> str:
    """
    Return what kubectl makes of a kustomization.
    """
    command = [str(KUBECTL), "kustomize", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def assembled(folder: Path, resource: str, *components: str) -> Objects:
    """
    Return the objects of an overlay that is written into an empty folder: a part of deploy/ with
    components.
    """
    for name in ("base", "components", "overlays"):
        shutil.copytree(DEPLOY / name, folder / name)
    own = folder / "overlays" / "own"
    own.mkdir()
    parts = {
        "resources": [f"../../{resource}"],
        "components": [f"../../components/{name}" for name in components],
    }
    (own / "kustomization.yaml").write_text(yaml.safe_dump(parts))
    return list(yaml.safe_load_all(built(own)))


def objects(overlay: str) -> Objects:
    return list(yaml.safe_load_all(rendered(overlay)))


def kind(found: Objects, name: str) -> dict[str, Any]:
    """
    Return the first object of a kind, or the one of `kind/name`.
    """
    wanted, _, own = name.partition("/")
    return next(
        one for one in found if one["kind"] == wanted and own in ("", one["metadata"]["name"])
    )


def read(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / path).read_text()))


def deployment() -> dict[str, Any]:
    return read("base/deployment.yaml")


def container() -> dict[str, Any]:
    return dict(deployment()["spec"]["template"]["spec"]["containers"][0])


def task_containers() -> list[dict[str, Any]]:
    """
    Return the containers of the CronJobs.
    """
    jobs = [read(f"components/index-job/{name}.yaml")["spec"] for name in ("index", "collect")]
    return [one["jobTemplate"]["spec"]["template"]["spec"]["containers"][0] for one in jobs]


def literals(overlay: str) -> dict[str, str]:
    """
    Return the variables that an overlay gives the container.
    """
    found: dict[str, str] = {}
    for name in PARTS[overlay]:
        generators = read(f"{name}/kustomization.yaml")["configMapGenerator"]
        (generator,) = (one for one in generators if one["name"] == "context-assembler")
        found.update(text.split("=", 1) for text in generator["literals"])
    return found


def image_variables() -> dict[str, str]:
    return dict(re.findall(r"(CONTEXT_ASSEMBLER_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text()))
