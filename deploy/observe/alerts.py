"""
The recording rules and the alerts. After a change here: `python deploy/observe/rules.py`.

Burn rates and windows are those of the SRE workbook ("Alerting on SLOs", table 5-8): a page where
2 % of a month's budget go in an hour or 5 % in six, a ticket where 10 % go in three days.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SERVICE = "contextassembler.v1.ContextAssemblerService"
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

LEAST_BAD = 5
"""Bad ones under which a share says nothing, in the window that it is taken of."""

CALLS = f'grpc_server_handled_total{{grpc_service="{SERVICE}"'
CONTEXTS = f'grpc_service="{SERVICE}",grpc_method="AssembleContext"'
PROMPT_CALLS = f'grpc_server_handling_seconds_bucket{{{CONTEXTS},le="{PROMPT_SECONDS}"}}'
TIMED_CALLS = f"grpc_server_handling_seconds_count{{{CONTEXTS}}}"


def errors(window: str) -> str:
    """
    Return the share of calls that fail.
    """
    return f'sum(rate({CALLS},grpc_code=~"{BAD}"}}[{window}]))\n/ sum(rate({CALLS}}}[{window}]))\n'


def failed(window: str) -> str:
    """
    Return how many calls fail.
    """
    return f'sum(increase({CALLS},grpc_code=~"{BAD}"}}[{window}]))'


def slow(window: str) -> str:
    """
    Return the share of contexts that take longer than the objective.
    """
    return f"1 - sum(rate({PROMPT_CALLS}[{window}]))\n/ sum(rate({TIMED_CALLS}[{window}]))\n"


def late(window: str) -> str:
    """
    Return how many contexts take longer than the objective.
    """
    return f"sum(increase({TIMED_CALLS}[{window}])) - sum(increase({PROMPT_CALLS}[{window}]))"


def contexts(outcome: str, window: str) -> str:
    """
    Return what has to hold before a share of contexts tells: enough of the outcome, of enough.
    """
    series = "context_assembler_responses_total"
    return (
        f'and sum(increase({series}{{outcome="{outcome}"}}[{window}])) >= {LEAST_BAD}\n'
        f"and sum(rate({series}[{window}])) > {LEAST_RATE}\n"
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


def burns(
    name: str, record: str, bad: Callable[[str], str], objective: float, summary: str
) -> list[dict[str, Any]]:
    """
    Return the alerts of one objective; only where enough is asked to tell, and enough is bad.
    """
    asked = f"sum(rate({CALLS}}}[1h])) > {LEAST_RATE}\n"
    budget = round(1 - objective, 6)
    found = [
        alert(
            name,
            f"context_assembler:{record}:ratio_rate{long} > {rate} * {budget}\n"
            f"and context_assembler:{record}:ratio_rate{short} > {rate} * {budget}\n"
            f"and on () {bad(long)} >= {LEAST_BAD}\n"
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
    *burns("AvailabilityBudgetBurn", "rpc_errors", failed, AVAILABILITY, "Calls fail"),
    *burns("LatencyBudgetBurn", "rpc_slow", late, PROMPT, "Contexts take longer than 300 ms"),
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
        ") > 0.05\n"
        "and (\n"
        "  sum by (dependency) (\n"
        f'    increase(context_assembler_dependency_requests_total{{code=~"{FAULTS}"}}[5m])\n'
        "  )\n"
        "  + sum by (dependency) (increase(context_assembler_dependency_refused_total[5m]))\n"
        f") >= {LEAST_BAD}\n",
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
        "AttachedUnusable",
        "max by (instance) (context_assembler_attached_unusable) > 0\n",
        "2m",
        "ticket",
        "An attached collection is missing or not what was attached; requests for it are refused.",
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
        "/ sum(rate(context_assembler_responses_total[1d] offset 30m)) + 0.05\n"
        f"{contexts('empty', '30m')}",
        "15m",
        "ticket",
        "More than twice as many contexts are empty as the day before.",
    ),
    alert(
        "Degraded",
        'sum(rate(context_assembler_responses_total{outcome="degraded"}[15m]))\n'
        "/ sum(rate(context_assembler_responses_total[15m])) > 0.05\n"
        f"{contexts('degraded', '15m')}",
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
