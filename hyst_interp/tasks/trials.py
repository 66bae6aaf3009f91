"""Trials: prompts with both answers, as plain numpy arrays that any library can read.

A trial is self-contained: it carries its tokens, the answer of each rule, the role of every position, and (once a twin
was made) its corrupted prompt. Rows are independent, so a slice of trials is again trials.
"""

from dataclasses import dataclass, fields, replace
from html import escape

import numpy as np
from jaxtyping import Bool, Float, Int

SHOWN = 8
"""Trials that a repr shows."""


@dataclass(frozen=True)
class Trials:
    """A batch of prompts, one row a trial."""

    tokens: Int[np.ndarray, "trial pos"]
    """Token ids; the last position is the query."""
    contextual: Int[np.ndarray, " trial"]
    """Token id of the answer read from the prompt."""
    fixed: Int[np.ndarray, " trial"]
    """Token id of the answer held in the weights."""
    query: Int[np.ndarray, " trial"]
    """Token id of the queried key."""
    queried_pair: Int[np.ndarray, " trial"]
    """Index of the pair that holds the queried key, 0 … n_pairs−1."""
    contextual_count: Int[np.ndarray, " trial"]
    """How often the contextual answer stands in the prompt (at least 1)."""
    fixed_present: Bool[np.ndarray, " trial"]
    """Whether the fixed answer stands in the prompt."""
    uniform: Float[np.ndarray, " trial"]
    """The trial's own draw from [0, 1): decides its training target, and which replacement its twin takes."""
    roles: Int[np.ndarray, "trial pos"]
    """Role of every position, an index into `role_names`."""
    role_names: tuple[str, ...]
    """The task's roles, in reading order; the last is the query's."""
    position_labels: tuple[str, ...]
    """Labels of the positions, `k1 v1 … q`; the last is the query's."""
    first_value: int
    """Token id of the first value; ids below it are keys."""
    d_vocab: int
    """Number of tokens."""
    twin: str | None = None
    """Kind of the corrupted prompt, where there is one."""
    corrupted: Int[np.ndarray, "trial pos"] | None = None
    """The twin's tokens."""
    unchanged_roles: tuple[str, ...] = ()
    """Roles that stand before the twin's first changed token in every prompt of the task."""
    unchanged_positions: tuple[str, ...] = ()
    """Labels of the positions of which the same is true."""

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, index: slice | np.ndarray) -> "Trials":
        """The trials at `index` (a slice, indices, or a mask), every array alike."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{k: v[index] for k, v in arrays.items() if isinstance(v, np.ndarray)})

    def targets(self, p: float) -> Int[np.ndarray, " trial"]:
        """Training targets at mixture `p`: the contextual answer where the trial's own draw is below p."""
        return np.where(self.uniform < p, self.contextual, self.fixed)

    @property
    def conflict(self) -> Bool[np.ndarray, " trial"]:
        """Whether the two answers differ."""
        return self.contextual != self.fixed

    @property
    def changed(self) -> Bool[np.ndarray, "trial pos"]:
        """Where the twin's tokens differ from the trial's; ValueError without a twin."""
        if self.corrupted is None:
            raise ValueError("these trials have no twin; make one with task.twin(trials, kind)")
        return self.tokens != self.corrupted

    def role_positions(self, role: str) -> Bool[np.ndarray, "trial pos"]:
        """Where the named role stands; ValueError for a role that does not exist."""
        if role not in self.role_names:
            raise ValueError(f"role '{role}' does not exist; use one of {', '.join(self.role_names)}")
        return self.roles == self.role_names.index(role)

    @property
    def token_names(self) -> tuple[str, ...]:
        """Every token by its name: keys `k0 k1 …`, then values `v0 v1 …`."""
        keys = tuple(f"k{i}" for i in range(self.first_value))
        return (*keys, *(f"v{i}" for i in range(self.d_vocab - self.first_value)))

    def sentence(self, trial: int) -> str:
        """One trial in a line: `k3→v9 … k3→?  contextual v9, fixed v2`."""
        name = self.token_names
        query, contextual, fixed = (name[column[trial]] for column in (self.query, self.contextual, self.fixed))
        others = " … " if self.tokens.shape[1] > 3 else " "
        return f"{query}→{contextual}{others}{query}→?  contextual {contextual}, fixed {fixed}"

    def prompt(self, trial: int) -> str:
        """The whole prompt of one trial: `k1→v4 k3→v9 k3→?`."""
        names = [self.token_names[token] for token in self.tokens[trial]]
        pairs = [f"{key}→{value}" for key, value in zip(names[:-1:2], names[1:-1:2], strict=False)]
        return " ".join([*pairs, f"{names[-1]}→?"])

    def _summary(self) -> str:
        n_trials, n_pos = self.tokens.shape
        twin = f", {self.twin} twin" if self.twin else ""
        return f"{n_trials:,} trial{'s' if n_trials != 1 else ''} of {n_pos} tokens{twin}"

    def _rest(self) -> str:
        more = len(self) - SHOWN
        return f"… and {more:,} more" if more > 0 else ""

    def __repr__(self) -> str:
        lines = [self.sentence(trial) for trial in range(min(len(self), SHOWN))]
        return "\n  ".join([f"Trials({self._summary()})", *lines, *([self._rest()] if self._rest() else [])])

    def _repr_html_(self) -> str:
        cell = '<td style="text-align:left;white-space:pre;font-family:monospace">'
        rows = "".join(
            f"<tr><td>{trial}</td>{cell}{escape(self.sentence(trial))}</td>{cell}{escape(self.prompt(trial))}</td></tr>"
            for trial in range(min(len(self), SHOWN))
        )
        head = "<tr><th>trial</th><th>question and answers</th><th>whole prompt</th></tr>"
        return f"<div><b>Trials</b> {escape(self._summary())}<table>{head}{rows}</table>{self._rest()}</div>"

    def arrays(self) -> dict[str, np.ndarray]:
        """The numeric columns, for a file."""
        names = ("tokens", "contextual", "fixed", "query", "queried_pair", "contextual_count", "fixed_present")
        return {name: getattr(self, name) for name in names}


def concatenate(parts: list[Trials]) -> Trials:
    """Trials one after the other; ValueError for an empty list."""
    if not parts:
        raise ValueError("there are no trials to concatenate; give at least one batch")
    first = parts[0]
    names = [f.name for f in fields(first) if isinstance(getattr(first, f.name), np.ndarray)]
    return replace(first, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
