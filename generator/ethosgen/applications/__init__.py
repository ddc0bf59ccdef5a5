"""Applications: whole programs around networks, which `project --app NAME` adds to a project.

Each is a folder of C in templates/apps/ (with what all share in templates/apps/common/), and a
module here that knows its files, the networks that fit, the host's input in place of a sensor, and
the lines that the application must then print. CONTRIBUTING.md says how to add one.
"""

from collections.abc import Mapping

from ethosgen import plugins
from ethosgen.applications.anomaly import ANOMALY
from ethosgen.applications.application import (
    Application,
    Commanded,
    Networks,
    Run,
    Settings,
    TakesRows,
)
from ethosgen.applications.image import IMAGE
from ethosgen.applications.kws import KWS
from ethosgen.applications.mlperf import MLPERF
from ethosgen.applications.turns import TURNS
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

__all__ = [
    "APPLICATIONS",
    "Application",
    "Commanded",
    "Networks",
    "Run",
    "Settings",
    "TakesRows",
    "find_application",
]

APPLICATIONS: Mapping[str, Application] = plugins.Registry(
    plugins.APPLICATIONS,
    {application.name: application for application in (ANOMALY, IMAGE, KWS, MLPERF, TURNS)},
)
"""The applications by name."""


def find_application(name: str) -> Application:
    """Return an application by its name; InputError lists the known ones."""
    if name not in APPLICATIONS:
        raise InputError(unknown("application", name, APPLICATIONS))
    return APPLICATIONS[name]
