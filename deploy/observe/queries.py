"""
What a panel of the dashboard is, and how it asks.
"""

from __future__ import annotations

from dataclasses import dataclass

SERVICE = "contextassembler.v1.ContextAssemblerService"
PREFIX = "context_assembler_"
OURS = f'grpc_service="{SERVICE}"'


@dataclass(frozen=True)
class Shown:
    """
    One panel: its title, what it tells, its unit, and its queries by legend.
    """

    title: str
    tells: str
    unit: str
    queries: tuple[tuple[str, str], ...]


def rate(metric: str, by: str = "", where: str = "") -> str:
    """
    Return the rate of a counter, summed over the pods.
    """
    group = f" by ({by})" if by else ""
    return f"sum{group} (rate({metric}{{{where}}}[$__rate_interval]))"


def quantile(part: float, metric: str, by: str = "", where: str = "") -> str:
    """
    Return a quantile of a histogram over the pods.
    """
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({part}, {rate(metric + '_bucket', labels, where)})"


def quantiles(metric: str, where: str = "") -> tuple[tuple[str, str], ...]:
    """
    Return the usual three quantiles of a histogram.
    """
    return tuple(
        (f"p{100 * part:g}", quantile(part, metric, "", where)) for part in (0.5, 0.95, 0.99)
    )


def mean(metric: str) -> tuple[tuple[str, str], ...]:
    """
    Return the mean of a histogram of whole numbers, whose quantiles would lie between them.
    """
    return (("mean", f"{rate(metric + '_sum')}\n/ {rate(metric + '_count')}"),)
