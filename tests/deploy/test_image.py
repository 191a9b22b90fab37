"""
The image has what it needs, and runs as the pod does.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from assembler.errors import EmbedderUnavailable
from deploy.check_assets import check
from deploy.pin import wanted
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


def pins(name: str) -> dict[str, tuple[Version, list[str]]]:
    """
    Return release and hashes of each package of a file, by its name.
    """
    text = (DEPLOY / name).read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    found = {}
    for pin, *hashes in lines:
        package, version = pin.split("==")
        found[canonicalize_name(package)] = (Version(version), hashes)
    assert len(found) == len(lines)
    return found


@pytest.mark.parametrize("name", list(wanted()))
def test_every_requirement_of_the_project_is_pinned_with_hashes(name: str) -> None:
    pinned = pins(name)

    for one in map(Requirement, wanted()[name]):
        release, _ = pinned[canonicalize_name(one.name)]
        assert one.specifier.contains(release), f"run `make requirements`: {one} is not {release}"
    for package, (_, hashes) in pinned.items():
        assert hashes, package
        assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", one) for one in hashes), package


@pytest.mark.parametrize("name", list(wanted()))
def test_the_pinned_requirements_name_no_place_and_no_torch(name: str) -> None:
    assert "//" not in (DEPLOY / name).read_text()
    assert not {"torch", "sentence-transformers", "onnx"} & set(pins(name))


def test_assets_that_are_right_are_listed_with_their_hashes(
    tmp_path: Path, model_folder: Path, tokenizer_folder: Path
) -> None:
    shutil.copytree(model_folder, tmp_path / "models" / model_folder.name)
    shutil.copytree(tokenizer_folder, tmp_path / "tokenizers")
    ranks = (tmp_path / "tokenizers" / "o200k_base.tiktoken").read_bytes()

    lines = check(tmp_path).splitlines()

    assert f"{hashlib.sha256(ranks).hexdigest()}  tokenizers/o200k_base.tiktoken" in lines
    assert len(lines) == sum(path.is_file() for path in tmp_path.rglob("*"))


def test_ranks_that_are_missing_or_changed_are_refused(tmp_path: Path, model_folder: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "tokenizers").mkdir()
    with pytest.raises(SystemExit, match="no model in"):
        check(tmp_path)
    (tmp_path / "models" / model_folder.name).symlink_to(model_folder)
    with pytest.raises(SystemExit, match=r"cl100k_base\.tiktoken is not what tiktoken demands"):
        check(tmp_path)
    (tmp_path / "tokenizers" / "cl100k_base.tiktoken").write_text("other")
    with pytest.raises(SystemExit, match=r"cl100k_base\.tiktoken is not what tiktoken demands"):
        check(tmp_path)


def test_a_model_whose_file_was_changed_is_refused(tmp_path: Path, model_folder: Path) -> None:
    changed = tmp_path / "models" / model_folder.name
    shutil.copytree(model_folder, changed)
    (changed / "tokenizer.json").write_text("{}")

    with pytest.raises(EmbedderUnavailable, match="is not the exported file"):
        check(tmp_path)
