"""
Write the recording rules and alerts: `python deploy/observe/rules.py` after a change of alerts.py.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from deploy.observe.alerts import ALERTS, RECORDS

MONITORING = Path(__file__).parent.parent / "components" / "monitoring"


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
    head = "# Written by deploy/observe/rules.py; change alerts.py beside it.\n"
    return {
        name: head + yaml.dump(content, Dumper=Dumper, sort_keys=False, width=100)
        for name, content in (("rules.yaml", spec), ("prometheusrule.yaml", wrapped))
    }


if __name__ == "__main__":
    for name, text in documents().items():
        (MONITORING / name).write_text(text, encoding="utf-8")
