"""References are objects in one tuple: another one needs no other edit, and no name is typed twice."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from hyst_interp import references
from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import records
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.edit import Reference as Tensors
from hyst_interp.interventions.references import query_only, site_of
from hyst_interp.interventions.sweep import sweep
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.attenuation.summary import replacements
from hyst_interp.references import DONOR, REFERENCES, Reference, Values, reference, reference_names

PACKAGE = Path(references.__file__).resolve().parent
RUNS = {
    "interventions/patching.py",
    "questions/crossing/layer_swap.py",
    "questions/crossing/controls.py",
    "questions/edges/edge_attribution.py",
    "questions/edges/run_measure.py",
    "questions/edges/measure.py",
    "questions/patching/measure.py",
    "questions/patching/stage.py",
    "questions/similarity/measure.py",
}
"""Where `donor` is a variable, the run that is patched from, and no reference."""


@dataclass(frozen=True)
class Halved(Reference):
    """Half of what the other history writes on the same trial."""

    name, sentence = "half-donor", "half of what the other history writes"
    is_exchange = True

    def build(self, component, branch, means, written):
        other = written[BRANCHES[1 - BRANCHES.index(branch)]][component]
        return Values(other / 2, True, "stream")


@dataclass(frozen=True)
class Nothing(Reference):
    """Zeros, which need nothing measured."""

    name, sentence = "nothing", "zeros"

    def build(self, component, branch, means, written):
        return Values(torch.zeros(32), False, "stream")


@pytest.fixture
def more(monkeypatch):
    monkeypatch.setattr(references, "REFERENCES", (*REFERENCES, Halved(), Nothing()))


def test_a_reference_of_somebody_else_is_offered_attenuated_with_and_counted(small_pair, more):
    from hyst_interp.cli.arguments import references as parsed

    assert parsed("nothing,half-donor") == ("nothing", "half-donor")
    sets = small_pair.sets("L1H0,heads")
    found = attenuation(small_pair, {"half-donor": sets, "nothing": sets})
    where = query_only(small_pair.trials.tokens.shape[1])
    for row, members in enumerate([sets[0].members, sets[1].members], start=2):
        for branch, model in (("below", small_pair.below), ("above", small_pair.above)):
            zeros = Tensors(torch.zeros(32), False, "stream")
            edits = [Edit(site_of(c), zeros, 1.0, where) for c in sorted(members)]
            plain = sweep(model, small_pair.trials, [edits])["margin"][0]
            np.testing.assert_allclose(found["margin_after"].isel(row=row).sel(branch=branch), plain, atol=1e-5)
    moved = logits_moved(found)
    before, after = found["margin"].astype("float64"), found["margin_after"].astype("float64")
    into_below = before.sel(branch="below") - after.sel(branch="below")
    into_above = after.sel(branch="above") - before.sel(branch="above")
    exchange = (found["reference"] == "half-donor").values
    for counted, rows in ((0.5 * (into_below + into_above), exchange), (into_below + into_above, ~exchange)):
        there = moved["moved"].isel(row=rows).transpose("row", "trial")
        np.testing.assert_allclose(there, counted.isel(row=rows).transpose("row", "trial"), rtol=0, atol=1e-12)
    assert ["interaction" in row for row in records(replacements(found))] == [True, True, False, False]


def test_without_it_the_name_is_refused(small_pair, one_sentence):
    with pytest.raises(UserError) as caught:
        attenuation(small_pair, {"half-donor": small_pair.sets("heads")})
    one_sentence(caught.value, "half-donor", DONOR.name)


def test_names_and_needs():
    assert reference_names() == ("own-mean", "pooled-mean", "donor", "anchor-mean")
    assert reference_names(anchor=False) == ("own-mean", "pooled-mean", "donor")
    assert [one.name for one in REFERENCES if one.is_exchange] == ["donor"]
    assert all(reference(one.name) is one and one.sentence for one in REFERENCES)


def literals(path: Path) -> set[str]:
    """Names of references in a file's strings; docstrings are prose and do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    return {one.name for one in REFERENCES if any(names(one.name, text) for text in strings)}


def names(name: str, text: str) -> bool:
    """A compound such as own-mean counts inside a sentence too; donor, an English word, only by itself."""
    return name == text or ("-" in name and re.search(rf"(?<![\w-]){name}\b", text) is not None)


def test_every_name_stands_in_one_file():
    places: dict[str, set[str]] = {one.name: set() for one in REFERENCES}
    for path in PACKAGE.rglob("*.py"):
        for name in literals(path):
            places[name].add(path.relative_to(PACKAGE).as_posix())
    assert places.pop(DONOR.name) - RUNS == {"references.py"}
    assert set(map(frozenset, places.values())) == {frozenset({"references.py"})}
