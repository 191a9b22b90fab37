"""
The overlays as kubectl renders them, and what they are made of.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from typing import Any, TypeAlias

import pytest
import yaml

from tests.deploy.names import DEPLOY

KUBECTL = shutil.which("kubectl")
OVERLAYS = ("dev", "prod", "prod-tls")
PARTS = {
    "dev": ("base", "overlays/dev"),
    "prod": ("base", "overlays/prod"),
    "prod-tls": ("base", "overlays/prod", "components/mutual-tls"),
}
"""What gives an overlay its variables, each over those before."""

KUBERNETES = ("1.30", "1.37")
"""The oldest version that is supported, and the newest whose schemas there are."""

Objects: TypeAlias = "list[dict[str, Any]]"

needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on PATH")


@lru_cache
def rendered(overlay: str) -> str:
    run = subprocess.run(
        [str(KUBECTL), "kustomize", str(DEPLOY / "overlays" / overlay)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def objects(overlay: str) -> Objects:
    return list(yaml.safe_load_all(rendered(overlay)))


def kind(found: Objects, name: str) -> dict[str, Any]:
    """
    Return the first object of a kind, by name.
    """
    return next(one for one in found if one["kind"] == name)


def read(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / path).read_text()))


def deployment() -> dict[str, Any]:
    return read("base/deployment.yaml")


def container() -> dict[str, Any]:
    return dict(deployment()["spec"]["template"]["spec"]["containers"][0])


def task_containers() -> list[dict[str, Any]]:
    """
    Return the containers of the Jobs.
    """
    job = read("components/index-job/job.yaml")["spec"]
    collect = read("components/index-job/collect.yaml")["spec"]["jobTemplate"]["spec"]
    return [one["template"]["spec"]["containers"][0] for one in (job, collect)]


def literals(overlay: str) -> dict[str, str]:
    """
    Return the variables that an overlay gives the container.
    """
    found: dict[str, str] = {}
    for name in PARTS[overlay]:
        (generator,) = read(f"{name}/kustomization.yaml")["configMapGenerator"]
        found.update(text.split("=", 1) for text in generator["literals"])
    return found


def image_variables() -> dict[str, str]:
    return dict(re.findall(r"(CONTEXT_ASSEMBLER_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text()))
