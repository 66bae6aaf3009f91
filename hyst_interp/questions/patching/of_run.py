"""What chapters and notebooks read of a run about its maps, made once."""

import xarray as xr

from hyst_interp.report.run_results import RunResults

SITES = ("resid_pre", "result", "mlp_out")
POSITION_SITES = ("resid_pre", "result")


def effects(run: RunResults) -> dict[tuple[str, str], xr.Dataset]:
    """(site, axis) → effects averaged over trials (seed, order, branch, twin, …)."""
    found = {(site, "role"): run.results.get(f"patching-{site}") for site in SITES}
    found |= {(site, "position"): run.results.get(f"patching-position-{site}") for site in POSITION_SITES}
    whole = [((site, axis), one) for (site, axis), one in found.items() if one is not None]
    return {key: one.mean("trial", keep_attrs=True) if "trial" in one.dims else one for key, one in whole}
