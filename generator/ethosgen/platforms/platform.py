"""A platform: the facts about its projects that other rooms need."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Platform:
    """The base of a firmware: bare metal, an RTOS, an operating system, or another's build.

    Only these facts distinguish platforms; no other code compares their names. `layout` names its
    files in `LAYOUTS` of `ethosgen.project`, `toolchain` its build in `TOOLCHAINS` of
    `ethosgen.toolchain`, by default both under its own name.
    """

    name: str
    layout: str = ""
    toolchain: str = ""
    is_built: bool = True
    """Whether its projects are programs; a library is a part of another program."""
    default_board: str | None = None
    """The board of `--platform` without `--board`."""
    is_alone: bool = False
    """Whether a board with it has no other platform; it is then that board's default."""
    own_table: str = ""
    """The table that a board file has exactly if it has this platform."""
    needed_table: str = ""
    """The table that a board file must have for it."""
    boots: bool = False
    """Whether ethosgen writes its start-up code, which needs the board's addresses."""
    stands_in: bool = False
    """Whether its firmware runs on the board's stand-in, and can be an element of a pipeline."""
    secure_remedy: str = ""
    """What to do instead of non-secure firmware; "" if the platform has it."""
    has_secure_side: bool = False
    """Whether ethosgen writes the secure side of non-secure firmware."""
    takes_apps: bool = False
    """Whether it has the applications of `--app`."""
    takes_packs: bool = False
    """Whether its library can also be a CMSIS pack, by `--pack`."""
    maps_devices: bool = False
    """Whether its programs map the devices' registers and memory from files."""
    guesses_irqs: bool = True
    """Whether devices without a known interrupt get a spare one, for QEMU."""
    takes_cxx: bool = False
    """Whether a user's accelerator may have C++."""
    finds_sources: bool = False
    """Whether its build finds sources outside the project."""
    is_apart: bool = False
    """Whether a network's weights may be in a file apart from the code."""
    weights_folder: str = ""
    """The folder of the application's files that open such a file; "" if it has none."""
    driver: str = ""
    """The variant of accelerators' drivers that it builds; "" for the usual one."""
    has_kernel_heap: bool = False
    """Whether drivers take the objects of its kernel from a heap."""
    has_locks: bool = False
    """Whether threads wait their turn for a network, by a mutex of Zephyr's kernel."""
    has_cache_calls: bool = False
    """Whether the data cache is reached by Zephyr's calls; else by CMSIS's registers."""
    starts_devices: bool = False
    """Whether its own code starts the devices, before the networks' init."""
    has_npu_drivers: bool = False
    """Whether its own drivers hold the NPUs and their counters."""
    elf: str = "build/application.elf"
    """The program of an application that stands beside the one that serves inferences."""
    globs_sources: bool = False
    """Whether its build takes each source in the application's folder."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Templates of files in model/ that differ from the usual ones."""
    ci_remedy: str = ""
    """What to do instead of --with-ci; "" if it has a workflow."""
    profile_remedy: str = ""
    """What to do if its build has no option for profiles, for the project in {directory}."""
    flash_remedy: str = ""
    """What to do instead of `ethosgen flash`, for the project in {directory}; "" if that works."""

    @property
    def layout_name(self) -> str:
        """The name of its files in LAYOUTS."""
        return self.layout or self.name

    @property
    def toolchain_name(self) -> str:
        """The name of its build in TOOLCHAINS."""
        return self.toolchain or self.name
