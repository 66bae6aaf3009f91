"""What chapters and notebooks read of a run about its maps, made once."""

import xarray as xr

from hyst_interp.report.run_results import RunResults

SITES = ("resid_pre", "result", "mlp_out")
POSITION_SITES = ("resid_pre", "result")


def effects(run: RunResults) -> dict[tuple[str, str], xr.Dataset]:
    """(site, axis) → effects averaged over trials (seed, order, branch, twin, …)."""
    maps = {(site, "role"): run.results.get(f"patching-{site}") for site in SITES}
    maps |= {(site, "position"): run.results.get(f"patching-position-{site}") for site in POSITION_SITES}
    whole = [((site, axis), site_map) for (site, axis), site_map in maps.items() if site_map is not None]
    return {
        key: site_map.mean("trial", keep_attrs=True) if "trial" in site_map.dims else site_map
        for key, site_map in whole
    }
