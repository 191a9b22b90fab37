"""
Manifests agree with the code, with each other, and with what a pod may do.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cli.commands import app
from server.bootstrap import LIVENESS, READINESS
from server.settings import Settings
from tests.deploy.manifest_rules import faults
from tests.deploy.names import COMPONENTS, DEPLOY, adapter_query
from tests.deploy.overlays import (
    KUBERNETES,
    OVERLAYS,
    assembled,
    container,
    deployment,
    image_variables,
    kind,
    literals,
    needs_kubectl,
    objects,
    read,
    task_containers,
)


def test_ports_and_probes_are_those_of_the_server() -> None:
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    assert ports == {
        "grpc": defaults["port"],
        "health": defaults["health_port"],
        "metrics": defaults["metrics_port"],
    }
    for probe, service in (
        ("startupProbe", READINESS),
        ("readinessProbe", READINESS),
        ("livenessProbe", LIVENESS),
    ):
        assert container()[probe]["grpc"] == {"port": ports["health"], "service": service}


def test_every_variable_is_a_setting() -> None:
    env = [one for task in (container(), *task_containers()) for one in task["env"]]
    names = [one["name"] for one in env] + list(image_variables())
    for overlay in OVERLAYS:
        names += literals(overlay)

    assert len(names) > 5
    for name in names:
        assert name.startswith("CONTEXT_ASSEMBLER_"), name
        assert name.removeprefix("CONTEXT_ASSEMBLER_").lower() in Settings.model_fields, name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_settings_accept_the_variables(
    overlay: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mounted").touch()
    for variable, value in (image_variables() | literals(overlay)).items():
        is_mounted = variable.endswith("_FILE")
        monkeypatch.setenv(variable, str(tmp_path / "mounted") if is_mounted else value)

    settings = Settings()

    assert (settings.qdrant_url is None) == (overlay == "dev")
    assert (settings.tls_client_ca_file is not None) == (overlay == "prod-tls")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_grace_period_is_longer_than_sleep_and_drain(overlay: str) -> None:
    sleep = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    given = literals(overlay)
    delay = float(given["CONTEXT_ASSEMBLER_DRAIN_DELAY_SECONDS"])
    drain = float(given["CONTEXT_ASSEMBLER_DRAIN_SECONDS"])
    grace = deployment()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]

    assert grace > sleep + delay + drain
    assert delay > container()["readinessProbe"]["periodSeconds"]


def test_the_container_and_the_jobs_run_commands_that_there_are() -> None:
    for one in (container(), *task_containers()):
        options = [word for word in one["args"] if word.startswith("--")]
        words = one["args"][: one["args"].index(options[0])] if options else one["args"]
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "300"})
        assert shown.exit_code == 0
        assert all(option in shown.output for option in options)


@needs_kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_overlay_is_sound(overlay: str) -> None:
    assert faults(objects(overlay)) == []


@needs_kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_overlays_config_is_that_of_its_literals(overlay: str) -> None:
    found = objects(overlay)
    config = next(
        one
        for one in found
        if one["kind"] == "ConfigMap"
        and "grafana_dashboard" not in one["metadata"].get("labels", {})
    )
    (pod,) = kind(found, "Deployment")["spec"]["template"]["spec"]["containers"]

    assert config["data"] == literals(overlay)
    assert pod["envFrom"] == [{"configMapRef": {"name": config["metadata"]["name"]}}]
    assert "Secret" not in {one["kind"] for one in found}


@needs_kubectl
@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubernetes_knows_every_field(overlay: str, version: str) -> None:
    checker = pytest.importorskip(
        "kubernetes_validate", reason="the group `deploy` is not installed"
    )
    checked = 0
    for one in objects(overlay):
        if one["apiVersion"].partition("/")[0] not in ("monitoring.coreos.com", "keda.sh"):
            checker.validate(one, version, strict=True)
            checked += 1
    assert checked >= 5


@needs_kubectl
def test_the_embedded_engine_has_one_pod_and_its_data_on_a_volume() -> None:
    found = objects("dev")
    spec = kind(found, "Deployment")["spec"]
    (pod,) = spec["template"]["spec"]["containers"]
    mounts = {one["mountPath"]: one["name"] for one in pod["volumeMounts"]}
    volumes = {one["name"]: one for one in spec["template"]["spec"]["volumes"]}
    data = volumes[mounts[literals("dev")["CONTEXT_ASSEMBLER_DATA_DIR"]]]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    assert (
        data["persistentVolumeClaim"]["claimName"]
        == kind(found, "PersistentVolumeClaim")["metadata"]["name"]
    )


@needs_kubectl
def test_production_leaves_the_number_of_pods_to_the_autoscaler() -> None:
    found = objects("prod")

    assert "replicas" not in kind(found, "Deployment")["spec"]
    scaler = kind(found, "HorizontalPodAutoscaler")["spec"]
    (pods,) = (one["pods"] for one in scaler["metrics"] if one["type"] == "Pods")
    adapter = read("components/hpa/prometheus-adapter.yaml")
    assert pods["metric"]["name"] == adapter["rules"]["custom"][0]["name"]["as"]
    assert "context_assembler_inflight_requests_limit" in adapter_query()


@needs_kubectl
@pytest.mark.parametrize("scaler", ["hpa", "keda"])
def test_a_component_that_scales_takes_the_number_of_pods_out(scaler: str, tmp_path: Path) -> None:
    found = assembled(tmp_path, "base", scaler)

    assert faults(found) == []
    assert "replicas" not in kind(found, "Deployment")["spec"]


def test_the_components_that_scale_are_set_up_alike() -> None:
    hpa = read("components/hpa/hpa.yaml")["spec"]
    keda = read("components/keda/scaledobject.yaml")["spec"]

    assert (hpa["minReplicas"], hpa["maxReplicas"]) == (
        keda["minReplicaCount"],
        keda["maxReplicaCount"],
    )
    scaled = [read(f"components/{name}/deployment.yaml") for name in ("hpa", "keda")]
    assert scaled[0] == scaled[1]


def test_qdrant_has_a_node_for_every_copy_and_one_more() -> None:
    copies = int(literals("prod")["CONTEXT_ASSEMBLER_QDRANT_REPLICAS"])

    assert 2 <= copies < read("qdrant/values.yaml")["replicaCount"]


@needs_kubectl
def test_the_example_names_its_image_links_the_runbook_and_has_the_label_of_the_operator() -> None:
    found = objects("example")
    (pod,) = kind(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    rules = kind(found, "PrometheusRule")["spec"]["groups"]
    links = {
        rule["alert"]: rule["annotations"]["runbook_url"]
        for group in rules
        for rule in group["rules"]
        if "alert" in rule
    }

    assert pod["image"] == "registry.example.com/context-assembler:0.1.0"
    assert len(links) > 15
    for name, link in links.items():
        assert link == f"https://docs.example.com/context-assembler/runbook.md#{name.lower()}"
    for name in ("PodMonitor", "PrometheusRule"):
        assert kind(found, name)["metadata"]["labels"] == {"release": "kube-prometheus-stack"}
    assert "runbook" not in {one["metadata"]["name"].partition("-")[0] for one in found}


def test_every_component_and_overlay_names_files_that_there_are() -> None:
    for path in [*COMPONENTS.glob("*/kustomization.yaml"), *DEPLOY.glob("*/*/kustomization.yaml")]:
        named = yaml.safe_load(path.read_text())
        for name in [*named.get("resources", []), *named.get("components", [])]:
            assert (path.parent / name).exists(), f"{path}: {name}"
