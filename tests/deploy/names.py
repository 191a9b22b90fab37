"""
What the code exports, what rules and dashboard ask for, and what is wrong between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from prometheus_client import CollectorRegistry

from server.bootstrap import DESCRIPTOR, READINESS
from server.dependency_metrics import DependencyMetrics
from server.index_metrics import IndexMetrics
from server.metrics import Metrics

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPONENTS = DEPLOY / "components"
MONITORING = COMPONENTS / "monitoring"
SHARED = {"instance", "job", "namespace", "pod"}
HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")


def code_metrics() -> Metrics:
    methods = [(READINESS, method.name) for method in DESCRIPTOR.methods]
    made = Metrics(
        CollectorRegistry(),
        version="0",
        methods=methods,
        tokenizers=[],
        inflight_limit=1,
        caches={"query_embedding": lambda: (0, 0), "token_count": lambda: (0, 0)},
    )
    DependencyMetrics(made.registry)
    IndexMetrics(made.registry).show("docs", revision=1, published_at=0.0, uncollected=0)
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
    groups = yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    shown = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return [one for one in shown if one["type"] != "row"]


def expressions() -> Iterator[str]:
    """
    Yield everything that rules, dashboard and autoscalers ask Prometheus for.
    """
    yield from (rule["expr"] for rule in rules())
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "1m")
    (keda,) = (one for one in triggers() if one["type"] == "prometheus")
    yield keda["metadata"]["query"]
    yield adapter_query()


def triggers() -> list[dict[str, Any]]:
    scaled = yaml.safe_load((COMPONENTS / "keda" / "scaledobject.yaml").read_text())
    return list(scaled["spec"]["triggers"])


def adapter_query() -> str:
    """
    Return what prometheus-adapter asks, its placeholders filled in as it does.
    """
    adapter = yaml.safe_load((COMPONENTS / "hpa" / "prometheus-adapter.yaml").read_text())
    (rule,) = adapter["rules"]["custom"]
    query: str = rule["metricsQuery"]
    return query.replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'namespace="n"')


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
            if matcher.name in SHARED:
                continue  # Prometheus adds it
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


def misleading(panel: dict[str, Any]) -> list[str]:
    """
    Return what a panel shows that its axis does not say: numbers of another unit, or quantiles of
    whole numbers, which Prometheus puts between them.
    """
    unit, found = panel["fieldConfig"]["defaults"]["unit"], []
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", "1m")
        names = {one.name for one in selectors(promql_parser.parse(expression))}
        if (unit == "s") != any("_seconds" in name for name in names):
            found.append(f"{target['expr']} on an axis of {unit}")
        is_measured = all(re.search("_(seconds|ratio)_bucket$", name) for name in names)
        if "histogram_quantile" in expression and not is_measured:
            found.append(f"a quantile of whole numbers: {target['expr']}")
    return found
