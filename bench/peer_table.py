"""The measurements of `python_peers.py` as a table."""

from __future__ import annotations

from typing import Any


def table(rows: list[dict[str, Any]], targets: tuple[float, ...]) -> list[str]:
    """Markdown: one line per problem and target; at the end, where we are behind."""
    text = ["| Set | Precision | Method | Gap | Ours | Others | Ratio |", "|---|---|---|---|---|---|---|"]
    behind, contests = [], 0
    for problem in dict.fromkeys((row["set"], row["precision"], row["method"]) for row in rows):
        here = {row["program"]: row for row in rows if (row["set"], row["precision"], row["method"]) == problem}
        ours = here.pop("ours", None)
        for target in (f"{target:g}" for target in targets):
            mine = ours["reached"].get(target) if ours else None
            timed = {p: row["reached"][target]["seconds"] for p, row in here.items() if target in row["reached"]}
            best = min(timed, key=timed.__getitem__, default=None)
            # Nobody is ahead of a program that could not take part.
            contests += any(p in timed or took_part(row) for p, row in here.items())
            if best and (not mine or timed[best] < mine["seconds"]):
                behind.append(f"{' '.join(problem)}, gap {target}: {best}")
            ratio = f"{timed[best] / mine['seconds']:.3g}" if best and mine else ""
            others = "; ".join(f"{p}: {cell(row, target)}" for p, row in here.items())
            own = cell(ours, target) if ours else "not measured"
            text.append(f"| {' | '.join(problem)} | {target} | {own} | {others} | {ratio} |")
    verdict = f"Ours is ahead in {contests - len(behind)} of {contests} contests."
    return [*text, "", verdict, *(f"Not in {problem}" for problem in behind)]


def took_part(row: dict[str, Any]) -> bool:
    """Whether it has fitted anything, or run out of time."""
    return "closest" in row or row["why"].startswith("more than")


def cell(row: dict[str, Any], target: str) -> str:
    """Time and accuracy, or why there is none."""
    found = row["reached"].get(target)
    return f"{found['seconds']:.3g} s ({100 * found['accuracy']:.1f} %)" if found else row["why"]
