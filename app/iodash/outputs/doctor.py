"""What `iodash doctor` says, for people and for programs (schema `iodash.doctor/1`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from iodash.outputs.json import row_object, verdict_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iodash.model.checkup import HostCheck
    from iodash.model.frame import Verdict

SCHEMA = "iodash.doctor/1"


def doctor_json(verdict: Verdict, verdicts: Sequence[Verdict], checks: Sequence[HostCheck], watched_s: float) -> str:
    """One JSON object: the worst verdict, one a job, how long was watched, and what the host hides."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "verdict": verdict_object(verdict),
            "verdicts": [verdict_object(one) for one in verdicts],
            "watched_s": round(watched_s, 3),
            "host": [row_object(check) for check in checks],
        },
        ensure_ascii=False,
    )


def doctor_lines(verdicts: Sequence[Verdict], checks: Sequence[HostCheck], watched_s: float) -> list[str]:
    """The same as lines: each verdict with its evidence and advice, then what this host hides and the remedy."""
    lines: list[str] = []
    for verdict in verdicts:
        subject = f"{verdict.job}: " if verdict.job else ""
        lines.append(f"{subject}{verdict.cause.replace('_', ' ').upper()} ({verdict.confidence} confidence)")
        lines.append(f"  {verdict.summary}")
        lines.extend(f"  - {item.text}" for item in verdict.evidence)
        lines.append(f"  try: {verdict.advice}")
        judged = f", judged by the last {verdict.window_s:.0f} s" if verdict.job else ""
        lines.append(f"  watched for {watched_s:.0f} s{judged}")
        lines.append("")
    hidden = [check for check in checks if not check.ok]
    lines.append("What this host shows and hides:")
    width = max((len(check.what) for check in checks), default=0)
    lines.extend(f"  {check.what:<{width}}  {check.status}" for check in checks if check.ok)
    for check in hidden:
        lines.append(f"  {check.what:<{width}}  {check.status}")
        lines.append(f"  {'':<{width}}  → {check.remedy}")
    return lines
