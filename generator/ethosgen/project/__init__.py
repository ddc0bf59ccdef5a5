"""Programs and Board to a project for CMake, Zephyr or CMSIS-Toolbox, written in one step.

`model/` is the model library: generated, never edited, replaced when it is generated again. Of
several networks each has a folder there, beside what they share. All else is the application, which
is the user's after the first time.
"""

from ethosgen.project.capacity import link_remedy
from ethosgen.project.clashes import check_names
from ethosgen.project.directory import find_edits, write
from ethosgen.project.layout import BAREMETAL, CSOLUTION, LIBRARY_ONLY, PLATFORMS, ZEPHYR
from ethosgen.project.manifest import Project, is_project, open_project
from ethosgen.project.rendering import render
from ethosgen.values.project_info import ProjectInfo

__all__ = [
    "BAREMETAL",
    "CSOLUTION",
    "LIBRARY_ONLY",
    "PLATFORMS",
    "ZEPHYR",
    "Project",
    "ProjectInfo",
    "check_names",
    "find_edits",
    "is_project",
    "link_remedy",
    "open_project",
    "render",
    "write",
]
