"""The files of a project by platform: which template becomes which file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethosgen.applications import Application
from ethosgen.applications.application import TEMPLATES, Commanded, HasMoreFiles, Networks
from ethosgen.board import Board
from ethosgen.host.resources import files_below, resource_folder
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.handover import Handover

STAND_IN = "stand_in"
"""The folder with the facts of the board that stands in on QEMU, as board/ has those of its own."""
APPLICATION = "application"
"""The folder of the application that a project has besides the one that serves inferences."""
_APPLICATION = (
    "application.h", "busy.c", "busy.h", "feed.c", "feed.h", "main.c", "report.c", "report.h",
)  # fmt: skip
"""The files of applications that get items from the host."""
_COMMANDED = ("application.h", "main.c", "report.c", "report.h")
"""Those of applications that take commands."""


@dataclass(frozen=True)
class Layout:
    """A platform's files, each by its path in the project.

    `templates` are the folders of templates/ to search, in order. `library` is below model/ and
    replaced on each generation; `network` adds each network's own files to it, `shared` those that
    several networks share. `application` is the user's. `way` is a file for each way in which the
    board runs, if there are any. `copies` (to the library) and `application_copies` are not
    rendered.
    """

    templates: tuple[str, ...]
    library: Mapping[str, str]
    network: Mapping[str, str]
    shared: Mapping[str, str]
    application: Mapping[str, str]
    way: tuple[str, str] | None
    copies: Mapping[str, Path] = field(default_factory=dict)
    application_copies: Mapping[str, Path] = field(default_factory=dict)

    @property
    def is_built(self) -> bool:
        """Whether the project itself is built, in build/; a library is part of another."""
        return self.way is not None or "CMakeLists.txt" in self.application


def with_element(layout: Layout, board: Board, handover: Handover) -> Layout:
    """Return a layout with the hand-over between elements of a pipeline.

    InputError for a board with too few lines to them.
    """
    need = handover.lines
    if len(board.links) < need:
        has = counted(len(board.links), "line") if board.links else "no lines"
        raise InputError(
            f"element '{handover.name}' needs {counted(need, 'line')} to others, but board "
            f"'{board.name}' has {has}; add [[links]] to its board file, as "
            "boards/corstone300.toml has them, or connect fewer elements with it"
        )
    return replace(
        layout,
        templates=("element", *layout.templates),
        library={
            **layout.library,
            "ethosgen_handover.h": "model/ethosgen_handover.h",
            "ethosgen_handover.c": "model/ethosgen_handover.c",
        },
        application={
            **layout.application,
            "app/element.c": "app/element.c",
            "app/element.h": "app/element.h",
            "board/link.c": "board/link_mesh.c"
            if handover.mesh
            else f"board/link_{board.links[0].kind}.c",
            "board/link.h": "board/link.h",
            **_line_header(board),
        },
    )


def with_application(layout: Layout, app: Application, networks: Networks) -> Layout:
    """Return a layout with an application's files."""
    shared = _COMMANDED if isinstance(app, Commanded) else _APPLICATION
    more = app.more_files(networks) if isinstance(app, HasMoreFiles) else ()
    files = {f"{APPLICATION}/{file}": f"common/{file}" for file in shared}
    files |= {f"{APPLICATION}/{file}": f"{app.name}/{file}" for file in (*app.files, *more)}
    return replace(
        layout,
        templates=tuple(dict.fromkeys((*layout.templates, TEMPLATES, app.templates))),
        application={**layout.application, **files},
    )


def _line_header(board: Board) -> dict[str, str]:
    return {"board/cmsdk_uart.h": "board/cmsdk_uart.h"} if board.links[0].kind == "cmsdk" else {}


_NETWORK = {
    "{name}.h": "model/model.h",
    "{name}.hpp": "model/model.hpp",
    "{name}.c": "model/model.c",
    "{name}_self_test.h": "model/self_test.h",
    "{name}_self_test.c": "model/self_test.c",
}
_SHARED = {
    "ethosgen_arena.h": "model/ethosgen_arena.h",
    "ethosgen_arena.c": "model/ethosgen_arena.c",
}
_LIBRARY = {
    "ethosgen_status.h": "model/ethosgen_status.h",
    "ethosgen_quantization.h": "model/ethosgen_quantization.h",
    "ethosgen.hpp": "model/ethosgen.hpp",
    "ethosgen_networks.h": "model/ethosgen_networks.h",
    "ethosgen_networks.c": "model/ethosgen_networks.c",
    "ethosgen_profile.h": "model/ethosgen_profile.h",
    "ethosgen_self_test.h": "model/ethosgen_self_test.h",
    "ethosgen_self_test.c": "model/ethosgen_self_test.c",
    "CMakeLists.txt": "model/CMakeLists.txt",
}
_COMMON = "ethosgen_common.cmake"
BAREMETAL_LAYOUT = Layout(
    templates=("baremetal", "common"),
    library={**_LIBRARY, _COMMON: f"model/{_COMMON}"},
    network=_NETWORK,
    shared=_SHARED,
    application={
        "CMakeLists.txt": "CMakeLists.txt",
        "README.md": "README.md",
        "cmake/arm-none-eabi.cmake": "cmake/arm-none-eabi.cmake",
        "cmake/clang.cmake": "cmake/clang.cmake",
        "app/main.c": "app/main.c",
        "app/server.c": "app/server.c",
        "app/server.h": "app/server.h",
        "app/frames.c": "app/frames.c",
        "app/frames.h": "app/frames.h",
        "app/profile.c": "app/profile.c",
        "app/profile.h": "app/profile.h",
        "app/services.h": "app/services.h",
        "board/startup.c": "board/startup.c",
        "board/startup.h": "board/startup.h",
        "board/board.c": "board/board.c",
        "board/board.h": "board/board.h",
        "board/registers.h": "board/registers.h",
    },
    way=("board/{way}.ld", "board/board.ld"),
)
CSOLUTION_LAYOUT = replace(
    BAREMETAL_LAYOUT,
    templates=("csolution", *BAREMETAL_LAYOUT.templates),
    library={
        **{
            file: template
            for file, template in BAREMETAL_LAYOUT.library.items()
            if file not in ("CMakeLists.txt", _COMMON)
        },
        "model.clayer.yml": "model/clayer.yml",
    },
    application={
        **{
            f: template
            for f, template in BAREMETAL_LAYOUT.application.items()
            if f.startswith(("app/", "board/"))
        },
        "README.md": "README.md",
        "firmware.csolution.yml": "csolution.yml",
        "firmware.cproject.yml": "cproject.yml",
    },
)
LINUX_LAYOUT = replace(
    BAREMETAL_LAYOUT,
    templates=("linux", *BAREMETAL_LAYOUT.templates),
    application={
        **{
            f: template
            for f, template in BAREMETAL_LAYOUT.application.items()
            if f.startswith("app/")
        },
        "CMakeLists.txt": "CMakeLists.txt",
        "README.md": "README.md",
        "cmake/linux.cmake": "cmake/linux.cmake",
        "board/board.c": "board/board.c",
        "board/board.h": "board/board.h",
    },
    way=None,
)
LIBRARY_LAYOUT = replace(
    BAREMETAL_LAYOUT,
    templates=("library", *BAREMETAL_LAYOUT.templates),
    library={
        **BAREMETAL_LAYOUT.library,
        **{
            file: f"model/{file}"
            for file in (
                "ethosgen.mk",
                "rtos/ethosgen_rtos.h",
                "rtos/ethosgen_freertos.c",
                "rtos/ethosgen_cmsis_rtos2.c",
            )
        },
    },
    application={file: file for file in ("README.md", "library.json", "library.properties")},
    way=None,
)


_SECURE = (
    *("secure.ld", "startup.c", "partition.h"),
    *("trustzone.c", "trustzone.h", "veneers.c", "veneers.h"),
)
"""The secure side's files, in the folder secure/."""


def with_board(layout: Layout, board: Board) -> Layout:
    """Return a layout with the files that depend on the board's console, simulator and security."""
    uart = board.console.uart if board.console else ""
    files = {"board/console.c": f"board/console_{uart}.c"}
    if uart == "cmsdk" or (board.run.qemu and board.run.qemu.shared):
        files["board/cmsdk_uart.h"] = "board/cmsdk_uart.h"
    if board.on_qemu:
        files["app/semihosting.h"] = "app/semihosting.h"
    if board.is_non_secure:
        files |= {f"secure/{file}": f"secure/{file}" for file in _SECURE}
    return replace(layout, application={**layout.application, **files})


def stand_in_files(board: Board) -> dict[str, str]:
    """Return the files of a board that stands in for another on QEMU, and their templates."""
    files = with_board(BAREMETAL_LAYOUT, board).application
    own = {file: template for file, template in files.items() if file.startswith("board/")}
    own["board/qemu.ld"] = "board/board.ld"
    return {file.replace("board", STAND_IN, 1): template for file, template in own.items()}


_SERVER = "ethosgen/lib/server"
_PROTOCOL = (
    *("frames.c", "frames.h", "profile.c", "profile.h"),
    *("semihosting.h", "server.c", "server.h", "services.h"),
)
_MODULE = ("zephyr", "dts", "lib", "CMakeLists.txt", "Kconfig")
"""The parts of zephyr_app/ that form the module in each project."""


_ZEPHYR_FILES = (
    *("module.yml", "npu.cmake", "ports.cmake", "Kconfig.sizes"),
    *("before_4_2.conf", "since_4_2.conf", "module/CMakeLists.txt", "module/Kconfig"),
)
"""What Zephyr reads of a network's own folder, and of the project as a module."""


def zephyr_layout(_board: Board) -> Layout:
    """Return the layout of a Zephyr application, with the module that each project has."""
    root = resource_folder("zephyr_app")
    app = root / "app"
    return Layout(
        templates=("zephyr", "common"),
        library={
            **_LIBRARY,
            _COMMON: f"model/{_COMMON}",
            **{f"zephyr/{file}": f"model/zephyr/{file}" for file in _ZEPHYR_FILES},
            **{f"{_SERVER}/{file}": f"app/{file}" for file in _PROTOCOL},
        },
        network=_NETWORK,
        shared=_SHARED,
        application={
            "README.md": "README.md",
            "src/main.c": "app/main.c",
            "sample.yaml": "sample.yaml",
            "zephyr/module.yml": "zephyr/module.yml",
        },
        way=("boards/on_{way}.overlay", "boards/on.overlay"),
        copies={
            f"ethosgen/{path.relative_to(root).as_posix()}": path
            for part in _MODULE
            for path in files_below(root / part)
        },
        application_copies={path.relative_to(app).as_posix(): path for path in files_below(app)},
    )
