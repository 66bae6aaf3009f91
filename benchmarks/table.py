"""The benchmark's results as a table for people; README shows the same lines."""

import json
from pathlib import Path
from typing import Any

START, END = "<!-- benchmarks -->", "<!-- end of benchmarks -->"
LATEST = Path(__file__).parent / "results" / "latest.json"


def table(found: dict[str, Any]) -> str:
    """Results as Markdown: the machine, the pairs, the growth, the start-up."""
    machine = found["machine"]
    quiet = (
        ""
        if found["quiet"]["quiet"]
        else " **The machine was busy; ratios are kinder or harsher than they should be.**"
    )
    lines = [
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gib']:.0f} GiB, {machine['system']},"
        f" Python {machine['python']}, torch {machine['torch']}, TransformerLens {machine['transformer_lens']}.{quiet}",
        "",
        "| what | against | ours | peer | ratio (range) | goal | same results |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(one) for one in found["measures"]]
    return "\n".join(lines)


def details(found: dict[str, Any]) -> str:
    """Growth, memory, and start-up as Markdown."""
    growth = found["growth"]
    lines = ["| grows with | | seconds |", "|---|---|---|"]
    lines += [f"| trials (`attenuate`) | {one['trials']:,} | {one['seconds']:.2f} |" for one in growth["trials"]]
    lines += [
        f"| layers (heads × positions) | {one['layers']} ({one['cells']} cells) | {one['seconds']:.2f} |"
        for one in growth["layers"]
    ]
    lines += [f"| histories (all cores) | {one['histories']} | {one['seconds']:.2f} |" for one in growth["seeds"]]
    lines += ["", "| memory | trials | peak | seconds |", "|---|---|---|---|"]
    names = {"attenuate": "`attenuate`", "sweep": "heads × positions"}
    lines += [
        f"| {names[key]} | {one['trials']:,} | {one['peak_bytes'] / 2**30:.2f} GiB | {one['seconds']:.0f} |"
        for key, one in found["memory"].items()
    ]
    lines += ["", "| start-up | seconds (range) |", "|---|---|"]
    lines += [
        f"| `{one['what']}` | {one['seconds']:.2f} ({one['low']:.2f} to {one['high']:.2f}) |"
        for one in found["startup"]
    ]
    return "\n".join(lines)


def shown_in(readme: str, found: dict[str, Any]) -> str:
    """The README's text with the table between its two markers replaced; ValueError where it has none."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the README lacks the markers '{START}' and '{END}'; put them where the table belongs")
    return f"{before}{START}\n{table(found)}\n{END}{after}"


def _row(one: dict[str, Any]) -> str:
    goal = "" if one["goal"] is None else f"≥ {one['goal']:g} {'✓' if one['ratio'] >= one['goal'] else '✗'}"
    same = f"{'yes' if one['equal'] else 'NO'} ({one['difference']:.0e} ≤ {one['tolerance']:.0e})"
    if one["tolerance"] == 0:
        same = ("yes, each of them" if one["key"] == "stages" else "yes, same bytes") if one["equal"] else "NO"
    return (
        f"| {one['what']} | {one['peer']} | {one['ours_seconds']:.2f} s | {one['peer_seconds']:.2f} s"
        f" | **{one['ratio']:.1f}** ({one['low']:.1f} to {one['high']:.1f}) | {goal} | {same} |"
    )


def read_latest() -> dict[str, Any]:
    """The results that the repository keeps."""
    return json.loads(LATEST.read_text("utf-8"))
