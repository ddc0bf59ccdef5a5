"""Generate a project for CMake, Zephyr or CMSIS-Toolbox from Programs and a Board.

`model/` is the model library: generated, never edited, and replaced on each generation. With
several networks, each has a folder there, next to the shared files. Everything else is the
application: generated once, then the user's.
"""

from ethosgen.project.capacity import (
    SHARED_PARTS,
    arena_room,
    check_capacity,
    link_remedy,
    part_capacities,
    part_sizes,
    room_bytes,
)
from ethosgen.project.clashes import check_names
from ethosgen.project.devices import require_devices
from ethosgen.project.directory import find_edits, require_writable, write
from ethosgen.project.info import ProjectInfo
from ethosgen.project.layouts import LAYOUTS, PlatformFiles
from ethosgen.project.manifest import Project, is_project, open_project
from ethosgen.project.rendering import render
from ethosgen.project.weights import code_text

__all__ = [
    "LAYOUTS",
    "SHARED_PARTS",
    "PlatformFiles",
    "Project",
    "ProjectInfo",
    "arena_room",
    "check_capacity",
    "check_names",
    "code_text",
    "find_edits",
    "is_project",
    "link_remedy",
    "open_project",
    "part_capacities",
    "part_sizes",
    "render",
    "require_devices",
    "require_writable",
    "room_bytes",
    "write",
]
