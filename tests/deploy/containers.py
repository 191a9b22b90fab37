"""
Images and containers by podman and runc, on a base that is made here from Debian's packages.

Nothing of a machine gets into an image, and building one needs no network: the wheels of the pinned
requirements are fetched before, with their hashes checked, and mounted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.deploy.names import DEPLOY, ROOT
from tests.qdrant_server.server import MEMORY

CACHE = ROOT / "var" / "image"
BASE = "localhost/base:bookworm"
IMAGE = "localhost/context-assembler:test"
STORAGE_BYTES = 4 << 30
CONFIG = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
PIP = "[global]\nno-index = true\nfind-links = /wheels\n"
RESTRICTED = (
    *("--read-only", "--read-only-tmpfs=false"),
    *("--cap-drop", "all", "--security-opt", "no-new-privileges", "--pids-limit", "256"),
)
"""What the pod's security context asks for."""

SMALL_TMP = ("--tmpfs", "/tmp:size=64m")  # noqa: S108 - in the container
LARGE_TMP = ("--tmpfs", "/tmp:size=1g")  # noqa: S108 - in the container
"""What a pod has, and what a Job that indexes has."""


def missing() -> str:
    """
    Return what there is not, which building an image needs; empty where all is there.
    """
    needed = ["podman", "runc", "unshare"]
    if not (CACHE / "base.tar").exists():
        needed.append("mmdebstrap")
    absent = [name for name in needed if shutil.which(name) is None]
    if absent:
        return f"not on PATH: {', '.join(absent)}"
    return "" if os.geteuid() == 0 else "only root builds images here"


class Podman:
    """
    Podman with a storage of its own, which goes with it.
    """

    def __init__(self) -> None:
        memory = Path(MEMORY) if MEMORY else None
        is_roomy = memory is not None and shutil.disk_usage(memory).free > STORAGE_BYTES
        self.folder = Path(tempfile.mkdtemp(prefix="image-", dir=memory if is_roomy else None))
        (self.folder / "containers.conf").write_text(CONFIG)
        (self.folder / "pip.conf").write_text(PIP)
        self._environment = {**os.environ, "CONTAINERS_CONF": f"{self.folder}/containers.conf"}
        self._driver = "overlay"
        if self.run("info").returncode:
            self._driver = "vfs"

    def command(self, *arguments: str) -> list[str]:
        storage = ("--root", f"{self.folder}/root", "--runroot", f"{self.folder}/run")
        return ["podman", *storage, "--storage-driver", self._driver, *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def must(self, *arguments: str) -> str:
        """
        Run a command that succeeds, and return what it writes.
        """
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def in_image(self, *arguments: str, python: str) -> subprocess.CompletedProcess[str]:
        """
        Run Python text in a container as restricted as the pod.
        """
        entry = ("--entrypoint", "/opt/venv/bin/python")
        return self.run(
            *("run", "--rm", "--network", "none", *SMALL_TMP),
            *(*RESTRICTED, *arguments, *entry, IMAGE, "-c", python),
        )

    def build(self, version: str) -> None:
        """
        Build the image, with no network.
        """
        self.must("import", str(base()), BASE)
        mounts = (f"{wheels()}:/wheels:ro", f"{self.folder}/pip.conf:/etc/pip.conf:ro")
        given = (f"BASE_IMAGE={BASE}", f"VERSION={version}", "REVISION=none")
        command = self.command(
            *("build", "--isolation", "chroot", "--network", "host", "--layers=false"),
            *(part for mount in mounts for part in ("-v", mount)),
            *(part for argument in given for part in ("--build-arg", argument)),
            *("--ignorefile", str(DEPLOY / "Dockerfile.dockerignore")),
            *("-t", IMAGE, "-f", str(DEPLOY / "Dockerfile"), str(ROOT)),
        )
        done = subprocess.run(
            ["/usr/bin/unshare", "--net", *command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]

    def config(self) -> dict[str, Any]:
        """
        Return the image's own configuration.
        """
        (found,) = json.loads(self.must("image", "inspect", IMAGE))
        return dict(found["Config"]) | {"Size": found["Size"]}

    def close(self) -> None:
        """
        Remove every container, image and file.
        """
        self.run("rm", "--all", "--force")
        self.run("rmi", "--all", "--force")
        shutil.rmtree(self.folder, ignore_errors=True)


def base() -> Path:
    """
    Return a small Debian with Python, as the image that is named in a Dockerfile would have it.
    """
    made = CACHE / "base.tar"
    if not made.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = CACHE / "fresh.tar"
        packages = "--include=python3,python3-venv,ca-certificates"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", packages, "bookworm", str(fresh)]
        subprocess.run(command, check=True)
        fresh.replace(made)
    return made


def wheels() -> Path:
    """
    Return the folder of the wheels that the requirements pin.
    """
    folder = CACHE / "wheels"
    for name in ("requirements.txt", "requirements-build.txt"):
        fetch = ["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        target = ["--only-binary", ":all:", "--python-version", "3.11", "--dest", str(folder)]
        pinned = ["--requirement", str(DEPLOY / name)]
        subprocess.run([sys.executable, *fetch, *target, *pinned], check=True)
    return folder
