"""Applications: whole programs around networks, which `project --app NAME` adds to a project.

Each is a folder of C in templates/apps/ (with what all share in templates/apps/common/), and a
module here that knows its files, which networks fit, what the host sends in place of a sensor, and
which lines the application must then print. To add one:

1. Write templates/apps/NAME/: application.c with application_run(), a driver's header and its
   *_host.c, which gets items from the host by feed.h, and settings.h with plain numbers. Results
   are lines of text (report.h), and nothing else is printed.
   README.md there is a section of the project's README.
2. Write a module here with one object that has the attributes and methods of `Application`, and add
   it to APPLICATIONS. `expect` computes the lines independently of the C, from what the networks'
   oracle answers; numbers in lines are computed in integers, so that they are equal, not close.
3. Test it in tests/applications/ on QEMU, on bare metal and with Zephyr, and describe it in
   docs/applications.md.
"""

from collections.abc import Mapping

from ethosgen.applications.anomaly import ANOMALY
from ethosgen.applications.application import Application, Networks, Run, Settings
from ethosgen.applications.image import IMAGE
from ethosgen.applications.kws import KWS
from ethosgen.applications.turns import TURNS
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

__all__ = ["APPLICATIONS", "Application", "Networks", "Run", "Settings", "find_application"]

APPLICATIONS: Mapping[str, Application] = {one.name: one for one in (ANOMALY, IMAGE, KWS, TURNS)}
"""The applications by name."""


def find_application(name: str) -> Application:
    """Return an application by its name; InputError lists the known ones."""
    if name not in APPLICATIONS:
        raise InputError(unknown("application", name, APPLICATIONS))
    return APPLICATIONS[name]
