"""
The image has what it needs, and runs as the pod does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from tests.deploy.names import DEPLOY, ROOT

HADOLINT = shutil.which("hadolint")


def test_the_image_has_every_package_and_runs_the_command_as_the_pods_user() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    (command,) = project["project"]["scripts"]
    copied = set(re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE))
    sources = {source for line in copied for source in line.split()}
    allowed = set(
        re.findall(r"^!(.+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    )
    pod = yaml.safe_load((DEPLOY / "base" / "deployment.yaml").read_text())["spec"]["template"]
    user = pod["spec"]["securityContext"]["runAsUser"]
    (container,) = pod["spec"]["containers"]
    exposed = re.findall(r"^EXPOSE (.+)$", text, re.MULTILINE)

    assert {package.split("/")[0] for package in packages} <= sources
    assert sources == allowed
    assert re.findall(r"^ENTRYPOINT (.+)$", text, re.MULTILINE) == [json.dumps([command])]
    assert re.findall(r"^CMD (.+)$", text, re.MULTILINE) == [json.dumps(container["args"])]
    assert re.findall(r"^USER (\d+):", text, re.MULTILINE) == [str(user)]
    assert [int(port) for port in exposed[0].split()] == [
        one["containerPort"] for one in container["ports"]
    ]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not on PATH")
def test_hadolint_accepts_the_dockerfile() -> None:
    run = subprocess.run(
        [str(HADOLINT), str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
