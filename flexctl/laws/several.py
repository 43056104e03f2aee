"""Laws that switch or blend between several linear ones: their common signals and control period."""

from __future__ import annotations

from collections.abc import Sequence

from .controller import LinearLaw


class SameSignals:
    """A law made of others with the same signals: it has those of the first."""

    laws: Sequence[LinearLaw]

    @property
    def sample_time(self) -> float:
        """Control period [s]; 0 for a continuous law."""
        return self.laws[0].sample_time

    @property
    def drives(self) -> tuple[str, ...]:
        """Plant inputs that are set."""
        return self.laws[0].drives

    @property
    def follows(self) -> tuple[str, ...]:
        """Reference channels that are followed."""
        return self.laws[0].follows
