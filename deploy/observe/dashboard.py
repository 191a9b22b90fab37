"""
Write the Grafana dashboard: `python deploy/observe/dashboard.py` after a change here.

Needs the dependency group `deploy`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, Row
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.timeseries import Panel
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from deploy.observe.queries import Shown
from deploy.observe.rows import ROWS

FILE = Path(__file__).parent.parent / "components" / "monitoring" / "dashboard.json"
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH, HEIGHT = 8, 7


def panel(shown: Shown, number: int) -> Panel:
    """
    Return a panel over time with an id of its own.
    """
    legend = VizLegendOptions().display_mode(LegendDisplayMode.LIST)
    made = (
        Panel()
        .id(number)
        .title(shown.title)
        .description(shown.tells)
        .unit(shown.unit)
        .min(0)
        .datasource(SOURCE)
        .span(WIDTH)
        .height(HEIGHT)
        .legend(legend.placement(LegendPlacement.BOTTOM))
    )
    for place, (name, expr) in enumerate(shown.queries):
        query = Dataquery().expr(expr).legend_format(name).ref_id(chr(ord("A") + place))
        made = made.with_target(query)
    return made


def dashboard(rows: Sequence[tuple[str, tuple[Shown, ...]]] = ROWS) -> str:
    """
    Return the dashboard's JSON.
    """
    made = (
        Dashboard("Context Assembler")
        .uid("context-assembler")
        .tags(["context-assembler"])
        .refresh("30s")
        .time("now-1h", "now")
        .with_variable(DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    numbers = itertools.count(1)
    for name, panels in rows:
        made = made.with_row(Row(name).id(next(numbers)))
        for shown in panels:
            made = made.with_panel(panel(shown, next(numbers)))
    built = json.loads(JSONEncoder(sort_keys=True).encode(made.build()))
    return json.dumps(built, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(dashboard(), encoding="utf-8")
