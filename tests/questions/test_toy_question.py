"""A question is a folder and a line: one of another package is everywhere, without an edit anywhere.

The folder `toy` beside this file stands for an installed package: its metadata name it as an entry point.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).resolve().parent / "toy"
ROOT = TOY.parent.parent.parent
SCRIPT = """
import contextlib, io, json, sys
from pathlib import Path
from hyst_interp.cli import main
out = io.StringIO()
with contextlib.redirect_stdout(out):
    main(["--help"])
from hyst_interp.config.study import load_study
from hyst_interp.study.plan import plan
study, root = load_study("tiny"), Path(sys.argv[1])
stages = plan(study)
told = {"help": out.getvalue(), "stages": sorted({one.directory for one in stages if one.kind == "toy"})}
from hyst_interp.study.stages import modules
told["modules"] = modules()
from hyst_interp.study.execute import InProcess
from hyst_interp.study.reproduce import reproduce
done = []
reproduce(study, root, resume=True, executor=InProcess(), listener=lambda e: done.append(e.kind + " " + e.stage.kind))
told["done"] = sorted({one for one in done if one.startswith("done")})
import hyst_interp as hi
pair = hi.pair(root / "seed-0/order-0/below", root / "seed-0/order-0/above", trials=8)
told["pair"] = pair.toy_width()
answer = io.StringIO()
with contextlib.redirect_stdout(answer):
    assert main(["toy", str(root), "--format", "json"]) == 0
told["command"] = json.loads(answer.getvalue())["width"]
print(json.dumps(told))
"""


@pytest.mark.process
def test_a_question_of_another_package_is_asked_everywhere(tiny_run, tmp_path):
    root = tmp_path / "run"
    shutil.copytree(tiny_run, root)
    paths = os.pathsep.join([str(TOY), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(root)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "  toy " in told["help"].split("Compare a pair:")[1].split("Where is it:")[0]
    assert told["stages"] == [f"seed-{s}/order-{o}/results/toy" for s in (0, 1) for o in (0, 1)]
    assert "toy_question.stage" in told["modules"]
    assert told["done"] == ["done collect", "done report", "done toy"]  # everything else was there, and stays
    import xarray as xr

    width = xr.load_dataset(root / "results" / "toy.nc", engine="h5netcdf")["width"]
    assert dict(width.sizes) == {"seed": 2, "order": 2, "branch": 2}
    assert width.sel(seed=0, order=0).values == pytest.approx(told["pair"])
    assert told["command"] == pytest.approx(float(width.mean()))
    report = (root / "report.html").read_text("utf-8")
    assert f"Margins scatter by {float(width.mean()):.6f} logits." in report
    assert '<section id="toy">' in report
    assert report.count("How wide do margins scatter?") >= 2  # its chapter, and its answer
