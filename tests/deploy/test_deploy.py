"""
Manifests, rules and dashboard agree with the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry
from typer.testing import CliRunner

from cli.main import app
from server.bootstrap import LIVENESS, READINESS
from server.metrics import Metrics
from server.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SUFFIXES = ("_bucket", "_sum", "_count")
OF_PROMETHEUS = {"instance", "le", "job"}


def metrics() -> dict[str, tuple[str, set[str]]]:
    """
    Return type and labels of every metric of the code, by exposed name.
    """
    registry = CollectorRegistry()
    Metrics(registry, version="0", methods=[], tokenizers=[], inflight_limit=1)
    found = {}
    for collector in registry._collector_to_names:
        for metric in collector.collect():
            name = metric.name + ("_total" if metric.type == "counter" else "")
            found[name] = (metric.type, set(collector._labelnames))  # type: ignore[attr-defined]
    return found


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return list(json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"])


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "1m")


def deployment() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "k8s" / "deployment.yaml").read_text()))


def container() -> dict[str, Any]:
    return dict(deployment()["spec"]["template"]["spec"]["containers"][0])


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_expression_uses_metrics_and_labels_of_the_code(expression: str) -> None:
    promql_parser.parse(expression)
    known = metrics()
    recorded = {rule["record"] for rule in rules() if "record" in rule}

    for name, labels in re.findall(
        r"([a-z_:]+[a-z0-9_:]*)(?:\{([^}]*)\})?(?=\[|\)| |$|\})", expression
    ):
        if not name.startswith(("context_assembler", "grpc_server")) or name in recorded:
            continue
        base = next((name.removesuffix(s) for s in SUFFIXES if name.endswith(s)), name)
        assert base in known or name in known, name
        used = set(re.findall(r"(\w+)\s*[=!]", labels))
        assert used <= known.get(base, known.get(name))[1] | OF_PROMETHEUS


def test_the_metrics_page_lists_exactly_the_metrics_of_the_code() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", page, re.MULTILINE)

    documented = {
        name: (kind, {label for label in labels.split(", ") if label != "–"})
        for name, kind, labels in ((n, k, ls.strip()) for n, k, ls in rows)
    }
    assert documented == metrics()


def test_every_alert_has_its_heading_in_the_runbook() -> None:
    headings = set(
        re.findall(r"^## (\w+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)
    )
    alerts = [rule for rule in rules() if "alert" in rule]

    assert {rule["alert"] for rule in alerts} == headings
    for rule in alerts:
        assert rule["annotations"]["runbook_url"].endswith("#" + rule["alert"].lower())
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_panels_have_units_and_the_datasource_of_the_variable() -> None:
    for panel in panels():
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
    assert len({panel["id"] for panel in panels()}) == len(panels())


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
    kustomization = yaml.safe_load((DEPLOY / "k8s" / "kustomization.yaml").read_text())
    names = [one["name"] for one in container()["env"]]
    names += [text.split("=")[0] for text in kustomization["configMapGenerator"][0]["literals"]]
    names += re.findall(r"(CONTEXT_ASSEMBLER_\w+)=", (DEPLOY / "Dockerfile").read_text())

    assert len(names) > 5
    for name in names:
        assert name.removeprefix("CONTEXT_ASSEMBLER_").lower() in Settings.model_fields, name


def test_the_grace_period_is_longer_than_sleep_and_drain() -> None:
    kustomization = yaml.safe_load((DEPLOY / "k8s" / "kustomization.yaml").read_text())
    literals = dict(t.split("=", 1) for t in kustomization["configMapGenerator"][0]["literals"])
    sleep = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = float(literals["CONTEXT_ASSEMBLER_DRAIN_SECONDS"])

    assert deployment()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > sleep + drain


def test_selectors_match_the_pods() -> None:
    labels = deployment()["spec"]["template"]["metadata"]["labels"]
    service = yaml.safe_load((DEPLOY / "k8s" / "service.yaml").read_text())

    assert deployment()["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()


def test_the_container_runs_a_command_that_there_is() -> None:
    shown = CliRunner().invoke(app, [*container()["args"], "--help"])

    assert shown.exit_code == 0
    assert "CONTEXT_ASSEMBLER_PORT" in shown.output
