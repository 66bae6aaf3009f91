"""A whole study: what is trained, at which seeds and orders, and what is measured on it.

A preset is a TOML file with these fields. The study's directory keeps the same file, so a run says how it was made.
"""

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from hyst_interp.config.frozen import Frozen, parse
from hyst_interp.config.model import ModelConfig
from hyst_interp.config.schedule import ScheduleConfig
from hyst_interp.config.setup import SetUp
from hyst_interp.config.task import TaskConfig
from hyst_interp.config.training import TrainingConfig
from hyst_interp.errors import UserError
from hyst_interp.references import ANCHOR_MEAN, DONOR, OWN_MEAN, POOLED_MEAN, reference_names
from hyst_interp.sites import parse_sets

PRESETS = Path(__file__).resolve().parent.parent / "presets"
DEVICES = ("cpu", "cuda")
"""Where training can run."""


class BehaviourConfig(Frozen):
    """Where and on how many trials margins are measured."""

    headline_trials: int = Field(default=4096, ge=2)
    """Conflict trials at every hold."""
    trajectory_trials: int = Field(default=1024, ge=2)
    """Conflict trials at the positions along schedule and hold."""
    every: int = Field(default=5, ge=1)
    """Updates between two measured positions along the schedule."""
    hold_positions: tuple[int, ...] = (5, 10, 15, 20, 25, 40, 60, 80, 100)
    """Updates after arrival at which margins are measured as well."""


class PatchingConfig(Frozen):
    """Which patching maps the study keeps, per trial, on arrival."""

    trials: int = Field(default=512, ge=2)
    """Conflict trials a map."""
    orders: int = Field(default=2, ge=1)
    """Data orders that are mapped: the first so many."""
    twins: tuple[Literal["value", "rename"], ...] = ("value", "rename")
    """Corruptions, so that both rules get a map."""
    sites: tuple[Literal["resid_pre", "result", "mlp_out"], ...] = ("resid_pre", "result", "mlp_out")
    """Sites that are mapped by role."""
    figure_site: Literal["resid_pre", "result"] = "resid_pre"
    """The site of the one map by absolute position that the figure shows."""


class AttenuationConfig(Frozen):
    """What is replaced, by what, where."""

    trials: int = Field(default=2048, ge=2)
    """Conflict trials."""
    means_trials: int = Field(default=4096, ge=2)
    """Trials of the input distribution behind every mean."""
    arrival: dict[str, tuple[str, ...]] = Field(
        default_factory=lambda: {
            OWN_MEAN.name: ("each", "heads", "mlps", "all"),
            DONOR.name: ("each", "heads", "mlps", "all"),
            POOLED_MEAN.name: ("heads", "mlps", "all"),
            ANCHOR_MEAN.name: ("heads", "mlps", "all"),
        }
    )
    """Reference → sets, measured on arrival."""
    holds: dict[str, tuple[str, ...]] = Field(
        default_factory=lambda: {OWN_MEAN.name: ("heads",), DONOR.name: ("heads",)}
    )
    """Reference → sets, measured at every later hold."""


class LocalizationConfig(Frozen):
    """How the memory is looked for, on arrival: in optimizer and weights, components, and edges."""

    trials: int = Field(default=1024, ge=2)
    """Conflict trials of everything but edges."""
    orders: int = Field(default=2, ge=0)
    """Data orders that are looked into: the first so many; 0 leaves all of it out."""
    updates: tuple[int, ...] = (0, 1, 2, 5, 10, 25, 50, 100)
    """Updates at p0 after an optimizer transplant at which the gap is measured."""
    route_trials: int = Field(default=256, ge=4)
    """Conflict trials of edge patching."""
    attribution_steps: tuple[int, ...] = (1, 2, 5, 10, 20, 50)
    """Numbers of steps at which EAP-IG is held against the exact map."""


class ClaimsConfig(Frozen):
    """How the rows of the comparison with the paper are read."""

    comparable: bool = True
    """Whether the study is the paper's; otherwise every verdict reads '<name>: not comparable'."""
    apart: int = Field(default=5, ge=2)
    """Where there are more seeds than this, the first so many (the paper's n) are also judged by themselves."""
    calibrated: tuple[str, ...] = ()
    """Row keys that the choice of the preset fixed or made likely; the others are free."""


class StudyConfig(Frozen):
    """Everything that a run depends on; its digest names the run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, also of the default output directory."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Training seeds: the unit of inference."""
    orders: int = Field(default=4, ge=1)
    """Data orders a seed."""
    p0: float = 0.5
    """Target mixture: probability that the training target follows the contextual rule."""
    holds: tuple[int, ...] = (0, 25, 100)
    """Updates at p0 after arrival at which everything is measured and checkpoints are kept."""
    task: TaskConfig = TaskConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    behaviour: BehaviourConfig = BehaviourConfig()
    patching: PatchingConfig = PatchingConfig()
    attenuation: AttenuationConfig = AttenuationConfig()
    localization: LocalizationConfig = LocalizationConfig()
    claims: ClaimsConfig = ClaimsConfig()
    save_optimizer: tuple[Literal["hold-000", "later-holds"], ...] = ("hold-000",)
    """Checkpoints of branches that keep the optimizer's moments (an anchor always does); others keep weights alone."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where training runs: a GPU trains all histories in lockstep, and its bytes are its own."""

    @model_validator(mode="after")
    def _possible(self) -> "StudyConfig":
        self.schedule.refuse_impossible(self.p0)
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds are {list(self.seeds)}; give distinct numbers from 0 up")
        if not self.holds or self.holds[0] != 0 or list(self.holds) != sorted(set(self.holds)):
            raise ValueError(f"holds are {list(self.holds)}; give increasing numbers that start at 0")
        if self.patching.orders > self.orders:
            raise ValueError(
                f"patching.orders is {self.patching.orders} with orders {self.orders}; use at most {self.orders}"
            )
        if self.localization.orders > self.orders:
            raise ValueError(
                f"localization.orders is {self.localization.orders} with orders {self.orders};"
                f" use at most {self.orders}"
            )
        updates = list(self.localization.updates)
        if not updates or updates[0] != 0 or updates != sorted(set(updates)):
            raise ValueError(f"localization.updates are {updates}; give increasing numbers that start at 0")
        steps = list(self.localization.attribution_steps)
        if not steps or steps[0] < 1 or steps != sorted(set(steps)):
            raise ValueError(f"localization.attribution_steps are {steps}; give increasing numbers from 1 up")
        if any(hold < 1 for hold in self.behaviour.hold_positions):
            raise ValueError(f"hold_positions are {list(self.behaviour.hold_positions)}; use numbers from 1 up")
        if "rename" in self.patching.twins and self.task.n_keys < self.task.n_pairs + 2:
            raise ValueError(
                f"n_keys is {self.task.n_keys} with n_pairs {self.task.n_pairs}: rename twins need two keys outside the"
                f" prompt; use n_keys >= {self.task.n_pairs + 2}, or patching.twins without rename"
            )
        if not {"resid_pre", "result"} <= set(self.patching.sites):
            raise ValueError(f"patching.sites are {list(self.patching.sites)}; the claims need resid_pre and result")
        if "heads" not in self.attenuation.arrival.get(OWN_MEAN.name, ()):
            raise ValueError(f"attenuation.arrival has no {OWN_MEAN.name} of 'heads', which the claims need; add it")
        for sets in (self.attenuation.arrival, self.attenuation.holds):
            for reference, names in sets.items():
                if reference not in (known := reference_names()):
                    raise ValueError(f"reference '{reference}' does not exist; use one of {', '.join(known)}")
                parse_sets(",".join(names), self.model.n_layers, self.model.n_heads, self.model.d_mlp > 0)
        return self

    def replace(self, **changes: Any) -> "StudyConfig":
        """A copy with top-level fields changed, validated again."""
        return parse(StudyConfig, self.to_json() | changes, "the study")


def presets() -> tuple[str, ...]:
    """Names of the presets that the package ships."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.toml")))


def load_study(preset: str) -> StudyConfig:
    """The study of a preset's name or a TOML file; UserError in one sentence where there is none or it is wrong."""
    path = Path(preset)
    if path.suffix != ".toml":
        path = PRESETS / f"{preset}.toml"
        if preset not in presets():
            raise UserError(f"preset '{preset}' does not exist; use {', '.join(presets())}, or a TOML file.")
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"preset file '{preset}' does not exist; check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UserError(f"preset file '{preset}' cannot be read as TOML ({error}); correct it.") from None
    return parse(StudyConfig, data, f"preset '{preset}'")


def parse_seeds(text: str) -> tuple[int, ...]:
    """`0-4`, `3`, or `0-2,7` as a tuple of seeds; UserError otherwise."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise UserError(f"seeds '{text}' cannot be read; write 0-4, 3, or 0-2,7.")
        seeds.extend(range(int(first), int(last if dash else first) + 1))
    if len(set(seeds)) != len(seeds):
        raise UserError(f"seeds '{text}' name a seed twice; name each once.")
    return tuple(seeds)


def setup_of(study: StudyConfig, seed: int) -> SetUp:
    """What one seed of the study is trained on, and how."""
    return SetUp(seed=seed, p0=study.p0, task=study.task, model=study.model, training=study.training)


def schedule_positions(study: StudyConfig) -> tuple[int, ...]:
    """Positions along the schedule at which margins are measured, its start and end included."""
    length = study.schedule.updates
    return (*range(0, length, study.behaviour.every), length)


def hold_positions(study: StudyConfig) -> tuple[int, ...]:
    """Updates after arrival at which margins are measured, every hold but 0 included."""
    last = study.holds[-1]
    return tuple(sorted({h for h in (*study.behaviour.hold_positions, *study.holds) if 0 < h <= last}))
