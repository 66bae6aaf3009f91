"""The notebooks run from a clean kernel on a run's layout, define nothing, and keep light outputs.

They read `../checkpoints`; here the one line that says so names the session's tiny run instead.
"""

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HOME = Path(__file__).resolve().parent.parent.parent / "notebooks"
NOTEBOOKS = ("01_a_history_effect", "02_exploring_heads", "03_paper_figures", "04_where_the_memory_is")
LINE = 'RUN = "../checkpoints"'
LARGEST = 2_000_000
"""Bytes of a notebook, outputs included."""


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(HOME / f"{name}.ipynb", as_version=4)


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_is_known():
    assert sorted(path.stem for path in HOME.glob("*.ipynb")) == sorted(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_thin(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert sum(LINE in cell.source.splitlines() for cell in code(notebook)) == 1
    assert LINE in code(notebook)[0].source
    for cell in code(notebook):
        defined = [
            node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert defined == []
        assert len(cell.source.splitlines()) <= 12
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") >= kinds.count("code") - 1


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_kept_and_light(name):
    assert (HOME / f"{name}.ipynb").stat().st_size < LARGEST
    for cell in code(read(name))[1:]:
        assert cell.outputs, cell.source
        assert not [one for one in cell.outputs if one.output_type == "error" or one.get("name") == "stderr"]


@pytest.mark.process
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_a_clean_kernel(name, tiny_run, monkeypatch):
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = read(name)
    first = code(notebook)[0]
    first.source = first.source.replace(LINE, f"RUN = {str(tiny_run)!r}")
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(HOME)}})
    client.execute()
    shown = {kind for cell in code(notebook) for one in cell.outputs for kind in one.get("data", {})}
    assert "application/vnd.plotly.v1+json" in shown
