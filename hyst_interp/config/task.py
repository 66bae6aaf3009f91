"""What is asked: the sizes of ambiguous associative recall, and which sizes are impossible.

Keys are tokens 0 … n_keys−1, values n_keys … n_keys+n_values−1; there is no start token. A prompt is
`k1 v1 … kn vn q`, so the context has 2·n_pairs + 1 positions.
"""

from typing import Literal

from pydantic import Field, model_validator

from hyst_interp.config.frozen import Frozen


class TaskConfig(Frozen):
    """Sizes of the recall task (defaults: ours; the paper states the task, not its sizes)."""

    name: Literal["associative-recall"] = "associative-recall"
    """Which task."""
    n_keys: int = Field(default=16, ge=2, le=4096)
    """Number of key tokens K."""
    n_values: int = Field(default=16, ge=2, le=4096)
    """Number of value tokens V."""
    n_pairs: int = Field(default=8, ge=1, le=512)
    """Key–value pairs in a prompt."""

    @model_validator(mode="after")
    def _possible(self) -> "TaskConfig":
        if self.n_values < self.n_keys:
            raise ValueError(
                f"n_values is {self.n_values}, fewer than n_keys {self.n_keys}: the fixed rule gives each key its own"
                f" value; use n_values >= {self.n_keys}"
            )
        if self.n_keys <= self.n_pairs:
            raise ValueError(
                f"n_keys is {self.n_keys} with n_pairs {self.n_pairs}: the rename twin needs a key outside the prompt;"
                f" use n_keys > {self.n_pairs}"
            )
        if self.n_values < self.n_pairs + 2:
            raise ValueError(
                f"n_values is {self.n_values} with n_pairs {self.n_pairs}: the value twin needs a value outside the"
                f" prompt and the fixed answer; use n_values >= {self.n_pairs + 2}"
            )
        return self

    @property
    def d_vocab(self) -> int:
        """Number of tokens, K + V."""
        return self.n_keys + self.n_values

    @property
    def n_ctx(self) -> int:
        """Positions in a prompt, 2·n_pairs + 1."""
        return 2 * self.n_pairs + 1
