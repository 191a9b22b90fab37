"""
What the dashboard shows, row by row.
"""

from __future__ import annotations

from deploy.observe.queries import OURS, PREFIX, Shown, mean, quantile, quantiles, rate

HANDLING = "grpc_server_handling_seconds"
CONTEXTS = f'{OURS},grpc_method="AssembleContext"'

ROWS: tuple[tuple[str, tuple[Shown, ...]], ...] = (
    (
        "Objectives",
        (
            Shown(
                "Failing calls",
                "Share of calls that fail, over an hour and three days; the objective is 0.1 %.",
                "percentunit",
                tuple((w, f"context_assembler:rpc_errors:ratio_rate{w}") for w in ("1h", "3d")),
            ),
            Shown(
                "Slow contexts",
                "Share of contexts that take longer than 300 ms; the objective is 1 %.",
                "percentunit",
                tuple((w, f"context_assembler:rpc_slow:ratio_rate{w}") for w in ("1h", "3d")),
            ),
            Shown(
                "Error budget burn",
                "How many times faster than the objective allows errors come; 14.4 pages.",
                "none",
                tuple(
                    (w, f"context_assembler:rpc_errors:ratio_rate{w} / 0.001") for w in ("1h", "6h")
                ),
            ),
        ),
    ),
    (
        "Calls",
        (
            Shown(
                "Calls by method",
                "Calls that ended.",
                "reqps",
                (("{{grpc_method}}", rate("grpc_server_handled_total", "grpc_method", OURS)),),
            ),
            Shown(
                "Calls by code",
                "How calls ended.",
                "reqps",
                (("{{grpc_code}}", rate("grpc_server_handled_total", "grpc_code", OURS)),),
            ),
            Shown(
                "Time of a context",
                "From a call's start to its end.",
                "s",
                quantiles(HANDLING, CONTEXTS),
            ),
        ),
    ),
    (
        "Stages",
        (
            Shown(
                "Stages, median",
                "Embedding runs inside the search.",
                "s",
                (("{{stage}}", quantile(0.5, f"{PREFIX}stage_duration_seconds", "stage")),),
            ),
            Shown(
                "Stages, p99",
                "Embedding runs inside the search.",
                "s",
                (("{{stage}}", quantile(0.99, f"{PREFIX}stage_duration_seconds", "stage")),),
            ),
            Shown(
                "Mean per context",
                "Seconds of each stage for a context.",
                "s",
                (
                    (
                        "{{stage}}",
                        rate(f"{PREFIX}stage_duration_seconds_sum", "stage")
                        + "\n/ on () group_left "
                        + rate(f"{PREFIX}responses_total"),
                    ),
                ),
            ),
        ),
    ),
    (
        "Budget",
        (
            Shown(
                "Used of the limit",
                "Context tokens over the limit, per context.",
                "percentunit",
                quantiles(f"{PREFIX}budget_utilization_ratio"),
            ),
            Shown(
                "Tokens",
                "Asked for, and sent.",
                "none",
                (
                    ("limits", rate(f"{PREFIX}request_budget_tokens_sum")),
                    ("contexts", rate(f"{PREFIX}context_tokens_sum")),
                    ("headings and markers", rate(f"{PREFIX}context_overhead_tokens_sum")),
                ),
            ),
            Shown(
                "Contexts over their limit",
                "Stays 0.",
                "none",
                (("over", f"sum(increase({PREFIX}budget_exceeded_total[$__rate_interval]))"),),
            ),
        ),
    ),
    (
        "What became of candidates",
        (
            Shown(
                "Dispositions",
                "Every candidate has one.",
                "none",
                (("{{disposition}}", rate(f"{PREFIX}dispositions_total", "disposition")),),
            ),
            Shown(
                "Outcomes",
                "How contexts ended.",
                "reqps",
                (("{{outcome}}", rate(f"{PREFIX}responses_total", "outcome")),),
            ),
            Shown(
                "Sources per context",
                "Distinct sources of a context, the mean.",
                "none",
                mean(f"{PREFIX}context_sources"),
            ),
        ),
    ),
    (
        "Qdrant",
        (
            Shown(
                "Calls to Qdrant, p99",
                "Time of a call, tries that found nobody included.",
                "s",
                (
                    (
                        "{{operation}}",
                        quantile(0.99, f"{PREFIX}dependency_request_duration_seconds", "operation"),
                    ),
                ),
            ),
            Shown(
                "Calls to Qdrant by code",
                "How calls ended; refused are those not sent, as it has not been answering.",
                "reqps",
                (
                    ("{{code}}", rate(f"{PREFIX}dependency_requests_total", "code")),
                    ("refused", rate(f"{PREFIX}dependency_refused_total")),
                    ("sent again", rate(f"{PREFIX}dependency_retries_total")),
                ),
            ),
            Shown(
                "Pods by what they think of Qdrant",
                "closed: it answers. open: calls are refused. half_open: one at a time tries it.",
                "none",
                (("{{state}}", f"sum by (state) ({PREFIX}dependency_breaker_state)"),),
            ),
        ),
    ),
    (
        "Load",
        (
            Shown(
                "In work, of the limit",
                "Pods are added above 65 %.",
                "percentunit",
                (("{{instance}}", f"{PREFIX}inflight_requests / {PREFIX}inflight_requests_limit"),),
            ),
            Shown(
                "Waiting",
                "Requests in line.",
                "none",
                (("{{instance}}", f"sum by (instance) ({PREFIX}queue_length)"),),
            ),
            Shown(
                "Time in line",
                "How long requests waited before they were worked on.",
                "s",
                quantiles(f"{PREFIX}queue_wait_seconds"),
            ),
            Shown(
                "Refused",
                "Requests refused before any work.",
                "reqps",
                (("{{reason}}", rate(f"{PREFIX}requests_rejected_total", "reason")),),
            ),
            Shown(
                "Cache hits",
                "Look-ups that found something.",
                "percentunit",
                (
                    (
                        "{{cache}}",
                        rate(f"{PREFIX}cache_requests_total", "cache", 'result="hit"')
                        + "\n/ "
                        + rate(f"{PREFIX}cache_requests_total", "cache"),
                    ),
                ),
            ),
            Shown(
                "Event loop",
                "How late it comes to its beat.",
                "s",
                quantiles(f"{PREFIX}event_loop_gap_seconds"),
            ),
            Shown(
                "Pods by version",
                "Pods by the service's version.",
                "none",
                (("{{version}}", f"sum by (version) ({PREFIX}build_info)"),),
            ),
        ),
    ),
    (
        "Indexes",
        (
            Shown(
                "Revisions read",
                "Pods that read different ones for long do not read the same index.",
                "none",
                (("{{index}} {{instance}}", f"{PREFIX}index_revision"),),
            ),
            Shown(
                "Age of the head",
                "Since the last publish.",
                "s",
                (
                    (
                        "{{index}}",
                        f"time() - max by (index) ({PREFIX}index_published_timestamp_seconds)",
                    ),
                ),
            ),
            Shown(
                "Revisions to collect",
                "What `indexes gc` would remove.",
                "none",
                (("{{index}}", f"max by (index) ({PREFIX}index_uncollected_revisions)"),),
            ),
        ),
    ),
)
