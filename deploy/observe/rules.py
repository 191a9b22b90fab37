"""
Write the recording rules and alerts: `python deploy/observe/rules.py` after a change here.

Burn rates and windows are those of the SRE workbook ("Alerting on SLOs", table 5-8): a page where
2 % of a month's budget go in an hour or 5 % in six, a ticket where 10 % go in three days.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SERVICE = "contextassembler.v1.ContextAssemblerService"
MONITORING = Path(__file__).parent.parent / "components" / "monitoring"
RUNBOOK = "docs/runbook.md"
BAD = "UNKNOWN|DEADLINE_EXCEEDED|INTERNAL|UNAVAILABLE|RESOURCE_EXHAUSTED|UNIMPLEMENTED|DATA_LOSS"
"""What counts against availability; a caller's own mistakes do not."""

FAULTS = (
    "UNKNOWN|DEADLINE_EXCEEDED|INTERNAL|UNAVAILABLE|RESOURCE_EXHAUSTED|UNIMPLEMENTED|DATA_LOSS"
    "|UNAUTHENTICATED|PERMISSION_DENIED|FAILED_PRECONDITION"
)
"""What calls to a dependency fail by; a collection that is not there is an answer."""

AVAILABILITY = 0.999
PROMPT = 0.99
PROMPT_SECONDS = "0.3"
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
BURNS = (
    ("1h", "5m", 14.4, "2m", "page"),
    ("6h", "30m", 6.0, "15m", "page"),
    ("1d", "2h", 3.0, "1h", "ticket"),
    ("3d", "6h", 1.0, "3h", "ticket"),
)
"""Long window, short window, burn rate, how long, severity."""

HEAD_DAYS = 7
"""How old a head may be; set it by how often you publish."""

LEAST_RATE = 0.02
"""Calls a second under which a share says nothing."""


def errors(window: str) -> str:
    """
    Return the share of calls that fail.
    """
    calls = f'grpc_server_handled_total{{grpc_service="{SERVICE}"'
    return f'sum(rate({calls},grpc_code=~"{BAD}"}}[{window}]))\n/ sum(rate({calls}}}[{window}]))\n'


def slow(window: str) -> str:
    """
    Return the share of contexts that take longer than the objective.
    """
    calls = f'grpc_service="{SERVICE}",grpc_method="AssembleContext"'
    return (
        f'1 - sum(rate(grpc_server_handling_seconds_bucket{{{calls},le="{PROMPT_SECONDS}"}}'
        f"[{window}]))\n/ sum(rate(grpc_server_handling_seconds_count{{{calls}}}[{window}]))\n"
    )


def alert(name: str, expr: str, lasts: str, severity: str, summary: str) -> dict[str, Any]:
    """
    Return an alert with the link to its heading in the runbook.
    """
    rule: dict[str, Any] = {"alert": f"ContextAssembler{name}", "expr": expr}
    if lasts:
        rule["for"] = lasts
    return {
        **rule,
        "labels": {"severity": severity},
        "annotations": {
            "summary": summary,
            "runbook_url": f"{RUNBOOK}#contextassembler{name.lower()}",
        },
    }


def burns(name: str, record: str, objective: float, summary: str) -> list[dict[str, Any]]:
    """
    Return the alerts of one objective; only where enough is asked to tell.
    """
    asked = f'sum(rate(grpc_server_handled_total{{grpc_service="{SERVICE}"}}[1h])) > {LEAST_RATE}\n'
    budget = round(1 - objective, 6)
    found = [
        alert(
            name,
            f"context_assembler:{record}:ratio_rate{long} > {rate} * {budget}\n"
            f"and context_assembler:{record}:ratio_rate{short} > {rate} * {budget}\n"
            f"and on () {asked}",
            lasts,
            severity,
            f"{summary} at {rate:g} times the rate that the monthly error budget allows.",
        )
        for long, short, rate, lasts, severity in BURNS
    ]
    for rule, (long, *_) in zip(found, BURNS, strict=True):
        rule["labels"]["window"] = long
    return found


RECORDS = [
    {"record": f"context_assembler:{name}:ratio_rate{window}", "expr": expr(window)}
    for name, expr in (("rpc_errors", errors), ("rpc_slow", slow))
    for window in WINDOWS
]

ALERTS = [
    *burns("AvailabilityBudgetBurn", "rpc_errors", AVAILABILITY, "Calls fail"),
    *burns("LatencyBudgetBurn", "rpc_slow", PROMPT, "Contexts take longer than 300 ms"),
    alert(
        "BudgetExceeded",
        "increase(context_assembler_budget_exceeded_total[10m]) > 0\n",
        "",
        "page",
        "A context counted more than its limit.",
    ),
    alert(
        "LedgerBroken",
        # the counters themselves, not increase(): it extrapolates each series by itself, and the
        # sums differ though the account is right
        "sum by (job, instance) (context_assembler_candidates_total)\n"
        "!= sum by (job, instance) (context_assembler_dispositions_total)\n",
        "10m",
        "ticket",
        "Dispositions do not sum to the candidates.",
    ),
    alert(
        "IndexNotAnswering",
        'max by (instance) (context_assembler_dependency_breaker_state{state="open"}) > 0\n',
        "1m",
        "page",
        "A pod refuses calls, since its Qdrant server does not answer.",
    ),
    alert(
        "DependencyErrors",
        # calls that the breaker keeps back fail for the caller as those do that are sent
        "(\n"
        "  sum by (dependency) (\n"
        f'    rate(context_assembler_dependency_requests_total{{code=~"{FAULTS}"}}[5m])\n'
        "  )\n"
        "  + sum by (dependency) (rate(context_assembler_dependency_refused_total[5m]))\n"
        ")\n"
        "/ (\n"
        "  sum by (dependency) (rate(context_assembler_dependency_requests_total[5m]))\n"
        "  + sum by (dependency) (rate(context_assembler_dependency_refused_total[5m]))\n"
        ") > 0.05\n",
        "5m",
        "ticket",
        "More than one of twenty calls to what the service depends on fails.",
    ),
    alert(
        "Saturated",
        "max by (instance) (\n"
        "  context_assembler_inflight_requests / context_assembler_inflight_requests_limit\n"
        ") > 0.9\n",
        "10m",
        "ticket",
        "A pod has as many requests in work as it accepts.",
    ),
    alert(
        "MixedIndexVersions",
        "max by (job, index) (context_assembler_index_revision)\n"
        "!= min by (job, index) (context_assembler_index_revision)\n",
        "15m",
        "ticket",
        "Pods read different revisions of an index.",
    ),
    alert(
        "HeadAge",
        "time() - max by (job, index) (context_assembler_index_published_timestamp_seconds)\n"
        f"> {HEAD_DAYS} * 86400\n",
        "1h",
        "ticket",
        f"Nothing was published into an index for {HEAD_DAYS} days.",
    ),
    alert(
        "RevisionsUncollected",
        "max by (job, index) (context_assembler_index_uncollected_revisions) > 0\n",
        "2d",
        "ticket",
        "Revisions that nobody needs are stored, with the points that ended in them.",
    ),
    alert(
        "PointsDenied",
        "sum by (job, reason) (increase(context_assembler_denied_points_total[10m])) > 0\n",
        "",
        "ticket",
        "An index returns points that are damaged or were not asked for; they are dropped.",
    ),
    alert(
        "CallersStale",
        "max by (instance) (context_assembler_callers_stale) > 0\n",
        "5m",
        "ticket",
        "The file of callers is broken; an earlier one serves.",
    ),
    alert(
        "Refusing",
        'sum(rate(context_assembler_requests_rejected_total{reason="overload"}[5m])) > 0\n',
        "10m",
        "ticket",
        "Requests are refused because there are too many.",
    ),
    alert(
        "LoopBlocked",
        "histogram_quantile(\n"
        "  0.999, sum by (le) (rate(context_assembler_event_loop_gap_seconds_bucket[5m]))\n"
        ") > 0.1\n",
        "15m",
        "ticket",
        "The event loop is held up for longer than 100 ms.",
    ),
    alert(
        "EmptyContexts",
        'sum(rate(context_assembler_responses_total{outcome="empty"}[30m]))\n'
        "/ sum(rate(context_assembler_responses_total[30m]))\n"
        '> 2 * sum(rate(context_assembler_responses_total{outcome="empty"}[1d] offset 30m))\n'
        "/ sum(rate(context_assembler_responses_total[1d] offset 30m)) + 0.05\n",
        "15m",
        "ticket",
        "More than twice as many contexts are empty as the day before.",
    ),
    alert(
        "Degraded",
        'sum(rate(context_assembler_responses_total{outcome="degraded"}[15m]))\n'
        "/ sum(rate(context_assembler_responses_total[15m])) > 0.05\n",
        "15m",
        "ticket",
        "Contexts are made without optional work.",
    ),
    alert(
        "Absent",
        "absent(context_assembler_build_info)\n",
        "5m",
        "page",
        "No pod of the service is scraped.",
    ),
]


class Literal(str):
    """
    Text that is written as a block.
    """

    __slots__ = ()


def _block(dumper: yaml.SafeDumper, text: Literal) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


class Dumper(yaml.SafeDumper):
    """
    Writes expressions as blocks.
    """


Dumper.add_representer(Literal, _block)


def documents() -> dict[str, str]:
    """
    Return the text of each file by its name.
    """
    groups = [
        {
            "name": f"context-assembler-{name}",
            "rules": [{**rule, "expr": Literal(rule["expr"])} for rule in rules],
        }
        for name, rules in (("recording", RECORDS), ("alerts", ALERTS))
    ]
    spec = {"groups": groups}
    wrapped = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "context-assembler"},
        "spec": spec,
    }
    head = "# Written by deploy/observe/rules.py; change that.\n"
    return {
        name: head + yaml.dump(content, Dumper=Dumper, sort_keys=False, width=100)
        for name, content in (("rules.yaml", spec), ("prometheusrule.yaml", wrapped))
    }


if __name__ == "__main__":
    for name, text in documents().items():
        (MONITORING / name).write_text(text, encoding="utf-8")
