"""
Compose and checkov: what other tools and their schemas say.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.commands import app
from server.settings import Settings
from tests.deploy.names import DEPLOY
from tests.deploy.overlays import OVERLAYS, needs_kubectl, read, rendered

PROMTOOL = shutil.which("promtool")
COMPOSE = shutil.which("check-jsonschema")
CHECKOV = shutil.which("checkov") or shutil.which(
    "checkov", path=DEPLOY.parent / "var" / "checkov" / "bin"
)


def compose() -> dict[str, Any]:
    return read("compose.yaml")["services"]


def test_compose_names_settings_ports_commands_and_files_that_there_are() -> None:
    services = compose()
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    served, index = services["context-assembler"], services["index"]
    scraped = read("compose/prometheus.yaml")["scrape_configs"][0]["static_configs"]

    for name in served["environment"]:
        assert name.removeprefix("CONTEXT_ASSEMBLER_").lower() in Settings.model_fields, name
    assert served["ports"] == [f"127.0.0.1:{defaults['port']}:{defaults['port']}"]
    assert scraped == [{"targets": [f"context-assembler:{defaults['metrics_port']}"]}]
    assert CliRunner().invoke(app, [index["command"][0], "--help"]).exit_code == 0
    assert (DEPLOY / served["build"]["context"] / served["build"]["dockerfile"]).exists()
    for service in services.values():
        for volume in service.get("volumes", []):
            if volume.startswith("./"):
                assert (DEPLOY / volume.split(":")[0]).is_file(), volume


def test_compose_takes_the_releases_that_the_manifests_and_the_dashboard_are_made_for() -> None:
    services, project = compose(), (DEPLOY.parent / "pyproject.toml").read_text()
    (sdk,) = re.findall(r"grafana-foundation-sdk==\d+!([\d.]+)", project)

    assert services["qdrant"]["image"].endswith(f":{read('qdrant/values.yaml')['image']['tag']}")
    assert services["grafana"]["image"].endswith(f":{sdk}")


@pytest.mark.skipif(COMPOSE is None, reason="check-jsonschema is not on PATH")
def test_compose_is_what_its_specification_allows(tmp_path: Path) -> None:
    def checked(path: Path) -> int:
        command = [str(COMPOSE), "--builtin-schema", "vendor.compose-spec", str(path)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    spoilt = tmp_path / "compose.yaml"
    spoilt.write_text((DEPLOY / "compose.yaml").read_text().replace("read_only", "readonly"))

    assert checked(DEPLOY / "compose.yaml") == 0
    assert checked(spoilt) == 1


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH")
def test_promtool_accepts_what_compose_gives_prometheus(tmp_path: Path) -> None:
    for path in ("compose/prometheus.yaml", "components/monitoring/rules.yaml"):
        shutil.copy(DEPLOY / path, tmp_path)

    command = [str(PROMTOOL), "check", "config", "prometheus.yaml"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr


@needs_kubectl
@pytest.mark.skipif(CHECKOV is None, reason="checkov is not installed; `make deploy-test` does it")
def test_checkov_finds_nothing_but_what_its_file_explains(tmp_path: Path) -> None:
    for overlay in OVERLAYS:
        (tmp_path / f"{overlay}.yaml").write_text(rendered(overlay))
    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()
    text = rendered("dev").replace("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false")
    (spoilt / "dev.yaml").write_text(text)

    def checked(*what: str) -> subprocess.CompletedProcess[str]:
        command = [str(CHECKOV), "--config-file", str(DEPLOY / "checkov.yaml"), *what]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    files = [part for one in OVERLAYS for part in ("-f", str(tmp_path / f"{one}.yaml"))]
    sound = checked("--framework", "kubernetes", *files)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    image = checked("--framework", "dockerfile", "-f", str(DEPLOY / "Dockerfile"))
    assert image.returncode == 0, image.stdout + image.stderr
    assert "CKV_K8S_22" in checked("--framework", "kubernetes", "-d", str(spoilt)).stdout


def test_every_check_that_is_left_out_has_its_reason() -> None:
    lines = (DEPLOY / "checkov.yaml").read_text().partition("skip-check:\n")[2].splitlines()

    assert lines[0].startswith("  # ")
    assert all(re.fullmatch(r"  # .+|  - CKV_\w+", line) for line in lines)
