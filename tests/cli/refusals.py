"""Every call that must be refused before anything slow is imported, with words that the sentence must name.

`{mini}` is the small run of `conftest.py`, `{out}` an empty directory.
"""

BELOW, ABOVE = "{mini}/seed-100/order-0/below", "{mini}/seed-100/order-0/above"
ATTENUATE = f"attenuate {BELOW} {ABOVE}"
PATCH = f"patch {BELOW} --site resid_pre"
TRIALS = f"trials {BELOW}"

REFUSALS: dict[str, tuple[str, str]] = {
    # usage
    "unknown command": ("atenuate a b", "atenuate"),
    "missing argument": (f"attenuate {BELOW}", "CKPT_B"),
    "unknown option": (f"{ATTENUATE} --trails 5", "--trails"),
    "no number": (f"{ATTENUATE} --trials many", "many"),
    "extra argument": (f"{ATTENUATE} more", "more"),
    "missing option": (f"patch {BELOW}", "--site"),
    "option without value": (f"{ATTENUATE} --trials", "--trials"),
    # checkpoints
    "no such path": (f"attenuate {{mini}}/nowhere {ABOVE}", "nowhere"),
    "no checkpoint": (f"attenuate {BELOW} {{mini}}/empty", "checkpoint.json"),
    "truncated": (f"attenuate {{mini}}/truncated {ABOVE}", "truncated"),
    "incomplete": (f"attenuate {{mini}}/half {ABOVE}", "weights.safetensors"),
    "wrong order": (f"attenuate {ABOVE} {BELOW}", "from below first"),
    "wrong order, patch": (f"patch {ABOVE} {BELOW} --site result", "from below first"),
    "wrong order, compare": (f"compare {ABOVE} {BELOW}", "from below first"),
    "other seed": (f"attenuate {BELOW} {{mini}}/other-seed", "101"),
    "other shape": (f"compare {BELOW} {{mini}}/other-shape", "n_heads"),
    "directory of a seed": ("info {mini}/seed-100", "seed-100"),
    "info of nothing": ("info {mini}/empty", "empty"),
    # attenuate
    "unknown component": (f"{ATTENUATE} --components L7H0", "L7H0"),
    "unreadable component": (f"{ATTENUATE} --components heds", "heds"),
    "empty component": (f"{ATTENUATE} --components heads,", "component"),
    "unknown reference": (f"{ATTENUATE} --reference own-mean,zero", "zero"),
    "anchor-mean without anchor": (
        "attenuate {mini}/orphans/below {mini}/orphans/above --reference anchor-mean",
        "--anchor",
    ),
    "anchor of another seed": (f"{ATTENUATE} --anchor {{mini}}/other-seed", "--anchor"),
    "anchor that is none": (f"{ATTENUATE} --anchor {{mini}}/empty", "empty"),
    "unknown positions": (f"{ATTENUATE} --positions last", "last"),
    "one trial": (f"{ATTENUATE} --trials 1", "1"),
    "no trials": (f"{ATTENUATE} --trials -3", "-3"),
    "too many trials": (f"{ATTENUATE} --trials 100000000", "100000000"),
    "negative seed": (f"{ATTENUATE} --seed -1", "-1"),
    "unknown format": (f"{ATTENUATE} --format yaml", "yaml"),
    # patch
    "unknown site": (f"patch {BELOW} --site attn_out", "attn_out"),
    "no such site in the model": ("patch {mini}/no-mlp --site mlp_out", "mlp_out"),
    "unknown twin": (f"{PATCH} --twin values", "values"),
    "unknown direction": (f"{PATCH} --direction both", "both"),
    "unknown axis": (f"{PATCH} --axis time", "time"),
    "unknown effect": (f"{PATCH} --effect relative", "relative"),
    "one trial, patch": (f"{PATCH} --trials 1", "1"),
    "unknown format, patch": (f"{PATCH} --format html", "html"),
    "figure of unknown kind": (f"{PATCH} --figure {{out}}/map.gif", "map.gif"),
    "figure nowhere": (f"{PATCH} --figure {{out}}/missing/map.html", "missing"),
    "figure without a browser": (f"{PATCH} --figure {{out}}/map.png", "Chrome"),
    # shapley
    "no game of a pooled mean": (f"shapley {BELOW} {ABOVE} --game donor,pooled-mean", "pooled-mean"),
    "players that are joined": (f"shapley {BELOW} {ABOVE} --components heads,L0H1+L1MLP", "L0H1,L1MLP"),
    "figure of players of unknown kind": (f"shapley {BELOW} {ABOVE} --figure {{out}}/s.gif", "s.gif"),
    # weights, information, cross, edges
    "wrong order, weights": (f"weights {ABOVE} {BELOW}", "from below first"),
    "one trial, weights": (f"weights {BELOW} {ABOVE} --trials 1", "1"),
    "weights of other shapes": (f"weights {BELOW} {{mini}}/other-shape", "n_heads"),
    "figure of weights nowhere": (f"weights {BELOW} {ABOVE} --figure {{out}}/missing/w.html", "missing"),
    "wrong order, information": (f"information {ABOVE} {BELOW}", "from below first"),
    "information of no component": (f"information {BELOW} {ABOVE} --components L0H9", "L0H9"),
    "unknown format, information": (f"information {BELOW} {ABOVE} --format yaml", "yaml"),
    "wrong order, cross": (f"cross {ABOVE} {BELOW}", "from below first"),
    "a site that cannot be moved": (f"cross {BELOW} {ABOVE} --site pattern", "pattern"),
    "negative seed, cross": (f"cross {BELOW} {ABOVE} --seed -1", "-1"),
    "wrong order, edges": (f"edges {ABOVE} {BELOW}", "from below first"),
    "unknown twin, edges": (f"edges {BELOW} {ABOVE} --twin query", "query"),
    "too few trials, edges": (f"edges {BELOW} {ABOVE} --trials 3", "3"),
    "no share": (f"edges {BELOW} {ABOVE} --faithfulness 1.2", "1.2"),
    "no steps": (f"edges {BELOW} {ABOVE} --steps 0", "0"),
    "figure of edges without a browser": (f"edges {BELOW} {ABOVE} --figure {{out}}/r.svg", "Chrome"),
    # transplant
    "transplant of nothing": ("transplant {mini}/nowhere", "nowhere"),
    "transplant of no run": ("transplant {mini}/empty", "study.toml"),
    "figure of a transplant of unknown kind": ("transplant {mini}/empty --figure {out}/t.pdf", "t.pdf"),
    # compare
    "one trial, compare": (f"compare {BELOW} {ABOVE} --trials 1", "1"),
    "no run": (f"compare {BELOW} {ABOVE} --run {{mini}}/nowhere", "nowhere"),
    "run that is none": (f"compare {BELOW} {ABOVE} --run {{mini}}/empty", "study.toml"),
    # explore
    "wrong order, explore": (f"explore {ABOVE} {BELOW} --out {{out}}/e.html", "from below first"),
    "explorer without a file": (f"explore {BELOW} {ABOVE}", "--out"),
    "explorer of another kind": (f"explore {BELOW} {ABOVE} --out {{out}}/e.pdf", ".html"),
    "explorer nowhere": (f"explore {BELOW} {ABOVE} --out {{out}}/missing/e.html", "missing"),
    "explorer without trials": (f"explore {BELOW} {ABOVE} --out {{out}}/e.html --trials 0", "0"),
    "explorer with too many trials": (f"explore {BELOW} {ABOVE} --out {{out}}/e.html --trials 201", "201"),
    "explorer of nothing": (f"explore {BELOW} {{mini}}/empty --out {{out}}/e.html", "checkpoint.json"),
    # trials
    "no trials to write": (f"{TRIALS} --n 0 --out {{out}}/t.npz", "0"),
    "trials of another kind": (f"{TRIALS} --n 5 --out {{out}}/t.csv", ".npz"),
    "trials nowhere": (f"{TRIALS} --n 5 --out {{out}}/missing/t.npz", "missing"),
    "trials without a file": (f"{TRIALS} --n 5", "--out"),
    # relax, report
    "relax of nothing": ("relax {mini}/nowhere", "nowhere"),
    "relax of no run": ("relax {mini}/empty", "study.toml"),
    "report of no run": ("report {mini}/empty", "study.toml"),
    # reproduce
    "unknown preset": ("reproduce --preset papers --out {out}/run", "papers"),
    "no such file": ("reproduce --preset {mini}/none.toml --out {out}/run", "none.toml"),
    "unreadable seeds": ("reproduce --preset tiny --seeds 4-0 --out {out}/run", "4-0"),
    "unknown device": ("reproduce --preset tiny --device tpu --out {out}/run", "--device"),
    "a GPU and a cluster": (
        "reproduce --preset tiny --device cuda --cluster tcp://localhost:8786 --out {out}/run",
        "cluster",
    ),
    "no workers": ("reproduce --preset tiny --workers 0 --out {out}/run", "--workers"),
    "cluster without a port": ("reproduce --preset tiny --cluster tcp://localhost --out {out}/run", "tcp://localhost"),
    "cluster of another kind": ("reproduce --preset tiny --cluster http://host:8786 --out {out}/run", "http://host"),
    "cluster on no port": ("reproduce --preset tiny --cluster tcp://host:70000 --out {out}/run", "70000"),
    "cluster and workers": (
        "reproduce --preset tiny --cluster tcp://host:8786 --workers 2 --out {out}/run",
        "--workers 2",
    ),
    "directory in use": ("reproduce --preset tiny --out {mini}", "--resume"),
    "resumed elsewhere": ("reproduce --preset tiny --resume --out {mini}/half", "study.toml"),
    "output is a file": ("reproduce --preset tiny --out {mini}/half/checkpoint.json", "checkpoint.json"),
    "output below a file": ("reproduce --preset tiny --out {mini}/half/checkpoint.json/run", "checkpoint.json"),
}
"""Name → command line and a word of its sentence."""


def command_line(text: str, mini: object, out: object) -> list[str]:
    """The words of a refused command line."""
    return [word.format(mini=mini, out=out) for word in text.split()]
