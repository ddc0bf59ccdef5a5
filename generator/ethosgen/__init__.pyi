from ethosgen.api import OffloadMode as OffloadMode
from ethosgen.api import OffloadOptions as OffloadOptions
from ethosgen.api import Run as Run
from ethosgen.api import Schedule as Schedule
from ethosgen.api import Strategy as Strategy
from ethosgen.api import accuracy as accuracy
from ethosgen.api import build_project as build_project
from ethosgen.api import compare as compare
from ethosgen.api import create_project as create_project
from ethosgen.api import create_report as create_report
from ethosgen.api import draw_samples as draw_samples
from ethosgen.api import read as read
from ethosgen.api import run_project as run_project
from ethosgen.api import simulate as simulate
from ethosgen.api import verify as verify
from ethosgen.values.errors import EthosgenError as EthosgenError
from ethosgen.version import __version__ as __version__
from ethosgen_place.api import place as place
from ethosgen_sweep.api import sweep as sweep

__all__ = [
    "EthosgenError",
    "OffloadMode",
    "OffloadOptions",
    "Run",
    "Schedule",
    "Strategy",
    "__version__",
    "accuracy",
    "build_project",
    "compare",
    "create_project",
    "create_report",
    "draw_samples",
    "place",
    "read",
    "run_project",
    "simulate",
    "sweep",
    "verify",
]
