"""The commands of `flexctl`; the entry is `flexctl.__main__:main`."""

from __future__ import annotations

import click

from .. import __version__
from .common import Commands, debug_option


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="flexctl", message="%(prog)s %(version)s")
def cli() -> None:
    """Controller design for flexible robot arms: plants, modes, Bode plots, closed loops on the simulated arm.

    PLANT is a name of the catalogue (see `flexctl list`) or the path of a TOML file; or a linear plant, a .mat, .npz,
    .json or .mtx file of matrices.

    \b
    First steps:
      flexctl demo                                   the whole workflow on one arm; pictures in out/
      flexctl list                                   all plants, controllers and models
      flexctl modes tokhi_azad_1994                  natural frequencies
      flexctl bode tokhi_azad_1994 -o bode.png       frequency response
      flexctl run tokhi_azad_lqg                     a controller through its scenarios

    \b
    Exit codes: 0 done, 1 failed numerically, 2 wrong input, 130 interrupted.
    Numbers go to stdout, progress and messages to stderr.
    """


cli.params.append(debug_option())
