"""
Manifests, rules and dashboard agree with the code.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry
from typer.testing import CliRunner

from cli.main import app
from server.bootstrap import DESCRIPTOR, LIVENESS, READINESS
from server.dependency_metrics import DeniedPoints, DependencyMetrics
from server.metrics import Metrics
from server.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SHARED = {"instance", "job"}
HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")
PROMTOOL = shutil.which("promtool")
KUBECTL = shutil.which("kubectl")
KUSTOMIZATIONS = ("k8s", "k8s-embedded")


def code_metrics() -> Metrics:
    methods = [(READINESS, method.name) for method in DESCRIPTOR.methods]
    made = Metrics(
        CollectorRegistry(), version="0", methods=methods, tokenizers=[], inflight_limit=1
    )
    DependencyMetrics(made.registry)
    made.registry.register(DeniedPoints({}))
    return made


def metrics() -> dict[str, tuple[str, set[str]]]:
    """
    Return type and labels of every metric of the code, by name.
    """
    found = {}
    for metric in code_metrics().registry.collect():
        name = metric.name + ("_total" if metric.type == "counter" else "")
        labels = {label for sample in metric.samples for label in sample.labels}
        found[name] = (metric.type, labels - {"le"})
    return found


def series() -> dict[str, set[str]]:
    """
    Return the labels of everything that can be asked for, by name; a histogram is three series.
    """
    found = {}
    for name, (kind, labels) in metrics().items():
        if kind == "histogram":
            for suffix in HISTOGRAM_SUFFIXES:
                found[name + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
        else:
            found[name] = labels
    return found


def label_values() -> dict[tuple[str, str], set[str]]:
    """
    Return the values that exist from the start, by series and label.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for metric in code_metrics().registry.collect():
        for sample in metric.samples:
            for label, value in sample.labels.items():
                found.setdefault((sample.name, label), set()).add(value)
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


def selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    """
    Yield every selector below a node of a parsed expression.
    """
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    elif isinstance(node, promql_parser.MatrixSelector):
        yield node.vector_selector
    elif isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from selectors(argument)
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from selectors(node.lhs)
        yield from selectors(node.rhs)
    elif not isinstance(node, (promql_parser.NumberLiteral, promql_parser.StringLiteral)):
        yield from selectors(node.expr)


def groupings(node: Any) -> Iterator[tuple[set[str], Any]]:
    """
    Yield the labels of every `by (…)` with the expression that they are taken from.
    """
    if isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from groupings(argument)
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from groupings(node.lhs)
        yield from groupings(node.rhs)
    elif isinstance(node, promql_parser.AggregateExpr):
        if node.modifier is not None:
            yield set(node.modifier.labels), node.expr
        yield from groupings(node.expr)
    elif isinstance(node, (promql_parser.ParenExpr, promql_parser.UnaryExpr)):
        yield from groupings(node.expr)


def problems(expression: str) -> list[str]:
    """
    Return what an expression asks for that the code does not export.
    """
    tree, known, values = promql_parser.parse(expression), series(), label_values()
    recorded = {rule["record"]: set[str]() for rule in rules() if "record" in rule}
    found = []
    for one in selectors(tree):
        if one.name not in known | recorded:
            found.append(f"no series {one.name}")
            continue
        for matcher in one.matchers.matchers:
            exported = values.get((one.name, matcher.name), set())
            is_pattern = matcher.op in (promql_parser.MatchOp.Re, promql_parser.MatchOp.NotRe)
            wanted = matcher.value.split("|") if is_pattern else [matcher.value]
            found += [
                f"no {one.name}{{{matcher.name}={value}}}" for value in set(wanted) - exported
            ]
    for labels, inner in groupings(tree):
        for one in selectors(inner):
            missing = labels - (known | recorded).get(one.name, set()) - SHARED
            found += [f"no label {label} at {one.name}" for label in missing]
    return found


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_expression_uses_series_labels_and_values_of_the_code(expression: str) -> None:
    assert not problems(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "context_assembler_candidates",
        "context_assembler_candidates_total_sum",
        "rate(context_assembler_stage_duration_seconds[5m])",
        'rate(grpc_server_handled_total{grpc_code="FINE"}[5m])',
        'grpc_server_handling_seconds_bucket{le="0.31"}',
        "sum by (phase) (rate(context_assembler_stage_duration_seconds_sum[5m]))",
    ],
)
def test_the_check_finds_names_that_are_wrong(expression: str) -> None:
    assert problems(expression)


def test_every_call_is_told_from_those_of_other_services() -> None:
    for expression in expressions():
        for one in selectors(promql_parser.parse(expression)):
            if one.name.startswith("grpc_server_"):
                matched = {matcher.name: matcher.value for matcher in one.matchers.matchers}
                assert matched.get("grpc_service") == READINESS, expression


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH")
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "rules", "--lint=all", "--lint-fatal", "deploy/prometheus/rules.yaml"],
        ["test", "rules", "tests/deploy/rules_test.yaml"],
    ],
    ids=["check", "test"],
)
def test_promtool_accepts_the_rules(arguments: list[str]) -> None:
    run = subprocess.run(
        [str(PROMTOOL), *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_metrics_page_lists_exactly_the_metrics_of_the_code() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", page, re.MULTILINE)

    documented = {
        name: (kind, {label for label in labels.split(", ") if label != "-"})
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


def test_every_alert_has_a_summary() -> None:
    assert all(rule["annotations"]["summary"] for rule in rules() if "alert" in rule)


def test_the_dashboard_has_a_fixed_uid_and_a_datasource_variable() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())

    assert dashboard["uid"] == "context-assembler"
    assert [one["type"] for one in dashboard["templating"]["list"]] == ["datasource"]


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


def literals(name: str) -> dict[str, str]:
    """
    Return the variables that a kustomization gives the container.
    """
    kustomization = yaml.safe_load((DEPLOY / name / "kustomization.yaml").read_text())
    (generator,) = kustomization["configMapGenerator"]
    return dict(text.split("=", 1) for text in generator["literals"])


def image_variables() -> dict[str, str]:
    return dict(re.findall(r"(CONTEXT_ASSEMBLER_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text()))


def test_every_variable_is_a_setting() -> None:
    names = [one["name"] for one in container()["env"]] + list(image_variables())
    for name in KUSTOMIZATIONS:
        names += literals(name)

    assert len(names) > 5
    for name in names:
        assert name.startswith("CONTEXT_ASSEMBLER_"), name
        assert name.removeprefix("CONTEXT_ASSEMBLER_").lower() in Settings.model_fields, name


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_settings_accept_the_variables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (image_variables() | literals(name)).items():
        monkeypatch.setenv(variable, value)

    settings = Settings()

    assert (settings.qdrant_url is None) == (name == "k8s-embedded")


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_grace_period_is_longer_than_sleep_and_drain(name: str) -> None:
    sleep = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = float(literals(name)["CONTEXT_ASSEMBLER_DRAIN_SECONDS"])

    assert deployment()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > sleep + drain


def test_the_embedded_engine_has_one_pod_and_its_data_on_a_volume() -> None:
    patch = yaml.safe_load((DEPLOY / "k8s-embedded" / "deployment.yaml").read_text())
    claim = yaml.safe_load((DEPLOY / "k8s-embedded" / "volume.yaml").read_text())
    pod = patch["spec"]["template"]["spec"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    (volume,) = pod["volumes"]

    assert patch["metadata"]["name"] == deployment()["metadata"]["name"]
    assert pod["containers"][0]["name"] == container()["name"]
    assert patch["spec"]["replicas"] == 1
    assert patch["spec"]["strategy"]["type"] == "Recreate"
    assert mount["name"] == volume["name"]
    assert mount["mountPath"] == literals("k8s-embedded")["CONTEXT_ASSEMBLER_DATA_DIR"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on PATH")
@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_kustomize_renders_one_deployment_with_its_config(name: str) -> None:
    run = subprocess.run(
        [str(KUBECTL), "kustomize", str(DEPLOY / name)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    objects = {one["kind"]: one for one in yaml.safe_load_all(run.stdout)}
    spec = objects["Deployment"]["spec"]
    (rendered,) = spec["template"]["spec"]["containers"]

    assert "Secret" not in objects
    assert objects["ConfigMap"]["data"] == literals(name)
    assert rendered["envFrom"] == [
        {"configMapRef": {"name": objects["ConfigMap"]["metadata"]["name"]}}
    ]
    assert {one["name"] for one in rendered["volumeMounts"]} == {
        one["name"] for one in spec["template"]["spec"]["volumes"]
    }
    if name == "k8s-embedded":
        assert spec["strategy"] == {"type": "Recreate"}


def test_the_pod_is_restricted() -> None:
    pod = deployment()["spec"]["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_selectors_match_the_pods() -> None:
    labels = deployment()["spec"]["template"]["metadata"]["labels"]
    service = yaml.safe_load((DEPLOY / "k8s" / "service.yaml").read_text())

    assert deployment()["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["clusterIP"] == "None"
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] in {one["name"] for one in container()["ports"]}
    assert port["port"] == Settings.model_fields["port"].default


def test_the_container_runs_a_command_that_there_is() -> None:
    shown = CliRunner().invoke(app, [*container()["args"], "--help"])

    assert shown.exit_code == 0
    assert "CONTEXT_ASSEMBLER_PORT" in shown.output


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
    user = deployment()["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    exposed = re.findall(r"^EXPOSE (.+)$", text, re.MULTILINE)

    assert {package.split("/")[0] for package in packages} <= sources
    assert sources == allowed
    assert re.findall(r"^ENTRYPOINT (.+)$", text, re.MULTILINE) == [json.dumps([command])]
    assert re.findall(r"^CMD (.+)$", text, re.MULTILINE) == [json.dumps(container()["args"])]
    assert re.findall(r"^USER (\d+):", text, re.MULTILINE) == [str(user)]
    assert [int(port) for port in exposed[0].split()] == [
        one["containerPort"] for one in container()["ports"]
    ]
