"""
Rules and dashboard ask for what the code exports, and are what their scripts write.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from types import ModuleType

import promql_parser
import pytest
import yaml

from server.bootstrap import READINESS
from tests.deploy.names import (
    DEPLOY,
    MONITORING,
    ROOT,
    expressions,
    metrics,
    misleading,
    panels,
    problems,
    rules,
    selectors,
)

PROMTOOL = shutil.which("promtool")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"observe_{name}", DEPLOY / "observe" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


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


def test_the_files_of_rules_are_what_the_script_writes() -> None:
    written = script("rules").documents()

    assert set(written) == {"rules.yaml", "prometheusrule.yaml"}
    for name, text in written.items():
        assert (MONITORING / name).read_text() == text, f"run deploy/observe/rules.py: {name}"


def test_the_dashboard_is_what_the_script_writes() -> None:
    pytest.importorskip("grafana_foundation_sdk", reason="the group `deploy` is not installed")

    written = script("dashboard").dashboard()

    assert (MONITORING / "dashboard.json").read_text() == written, "run deploy/observe/dashboard.py"


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH")
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "rules", "--lint=all", "--lint-fatal", "deploy/components/monitoring/rules.yaml"],
        ["test", "rules", "tests/deploy/rules_test.yaml"],
        ["test", "rules", "tests/deploy/slow_rules_test.yaml"],
        ["test", "rules", "tests/deploy/few_calls_test.yaml"],
    ],
    ids=["check", "test", "slow test", "few calls"],
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


def test_the_operators_rules_are_the_same_rules() -> None:
    wrapped = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text())

    assert wrapped["spec"] == yaml.safe_load((MONITORING / "rules.yaml").read_text())


def test_the_dashboard_has_a_fixed_uid_and_a_datasource_variable() -> None:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())

    assert dashboard["uid"] == "context-assembler"
    assert [one["type"] for one in dashboard["templating"]["list"]] == ["datasource"]


def test_panels_have_units_and_the_datasource_of_the_variable() -> None:
    for panel in panels():
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_panels_show_what_their_axis_says() -> None:
    assert [found for panel in panels() for found in misleading(panel)] == []


@pytest.mark.parametrize(
    ("unit", "expression", "said"),
    [
        ("none", "histogram_quantile(0.99, sum by (le) (rate(q_seconds_bucket[1m])))", "an axis"),
        ("s", "sum by (instance) (context_assembler_queue_length)", "an axis of s"),
        (
            "none",
            "histogram_quantile(0.5, sum by (le) (rate(context_assembler_context_sources_bucket[1m])))",
            "whole numbers",
        ),
    ],
)
def test_a_panel_that_misleads_is_found(unit: str, expression: str, said: str) -> None:
    panel = {"fieldConfig": {"defaults": {"unit": unit}}, "targets": [{"expr": expression}]}

    (found,) = misleading(panel)

    assert said in found
