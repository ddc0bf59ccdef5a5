"""Fill templates with the facts of Programs and a Board."""

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from ethosgen.applications import find_application
from ethosgen.backend import compiler_of, driver_of, wrapped_of
from ethosgen.backend.protocol import ProjectFiles
from ethosgen.board import DEFAULT_MEMORY_MODE, Bell, Board
from ethosgen.board.facts import LinkLine
from ethosgen.frontend import source_of, suffix_of
from ethosgen.platforms import DEFAULT_PLATFORM, LIBRARY_ONLY, find_platform
from ethosgen.project.capacity import check_capacity, shared_alignment
from ethosgen.project.ci import CI_FILES, ci_facts, ci_wheel
from ethosgen.project.clashes import check_names, check_ports, check_symbols
from ethosgen.project.devices import device_facts, device_files, require_devices
from ethosgen.project.imprint import NO_DIGEST, imprint
from ethosgen.project.layout import (
    APPLICATION,
    Layout,
    stand_in_files,
    with_application,
)
from ethosgen.project.layouts import find_layout, platform_files
from ethosgen.project.licences import application_licences
from ethosgen.project.linkage import device_addrs, host_board, memory_map, npu_base_addr, ways
from ethosgen.project.linux import check_wrapped
from ethosgen.project.manifest import (
    LIBRARY,
    MANIFEST,
    Project,
    folder_of,
    make_manifest,
)
from ethosgen.project.misra import RECORD, deviations
from ethosgen.project.network import is_own, network_facts
from ethosgen.project.pack import pack_files, parse_pack
from ethosgen.project.review import REVIEW, review_facts
from ethosgen.project.templating import make_environment
from ethosgen.project.trustzone import check_platform, secure_facts
from ethosgen.project.weights import weights_files, with_weights
from ethosgen.project.words import blob_arrays, constant_arrays
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.device import Device, bell_byte, unite
from ethosgen.values.errors import InputError
from ethosgen.values.handover import Handover
from ethosgen.values.naming import joined_name
from ethosgen.values.program import Program
from ethosgen.values.security import Security
from ethosgen.version import __version__

KERNEL_OPTIONS = ("-O2", "-fomit-frame-pointer", "-fno-lto")
"""Options of GCC and Clang for the micro-kernels: speed, and one more register, also if the linker
optimizes: GCC's would take the register away again."""
WRAPPED_OPTIONS = ("-O2", "-Wno-conversion", "-Wno-sign-conversion")
"""Options of GCC for a user's C: speed matters, and its warnings are the user's."""


def render(
    networks: Program | Sequence[Program],
    board: Board,
    *,
    memory_mode: str = DEFAULT_MEMORY_MODE,
    platform: str = DEFAULT_PLATFORM,
    with_ci: bool = False,
    ci_ethosgen: str | None = None,
    handover: Handover | None = None,
    app: str | None = None,
    labels: Sequence[str] = (),
    pack: str | None = None,
) -> Project:
    """Render a project of one network or several, which then share one arena.

    `ci_ethosgen` is the package that the workflow of `with_ci` installs, by default a wheel of this
    ethosgen. With `handover` the project is a pipeline's element; `labels` are classes of `app`,
    `pack` is VENDOR::NAME@VERSION. CapacityError if they do not fit, InputError if names clash.
    """
    programs = (networks,) if isinstance(networks, Program) else tuple(networks)
    board = board.for_platform(platform, handover is not None)
    packed = parse_pack(pack, platform) if pack else None
    layout = _checked_layout(programs, board, platform, handover, app)
    whole, board = board, platform_files(platform).networks_board(board)
    check_capacity(programs, board, memory_mode)
    devices = _devices(programs, platform, board)
    own = [network_facts(program, board, memory_mode, len(programs) > 1) for program in programs]
    driver, wrapped = _driver_files(programs), _wrapped_files(programs, platform)
    driver_facts = _driver_facts(programs[0].plan.accelerator, board, memory_mode, platform, own)
    environment = make_environment(tuple(filter(None, (*layout.templates, driver.templates))))
    facts = _facts(programs, board, memory_mode, driver, own, (devices, handover, platform))
    facts = _with_wrapped({**facts, **driver_facts}, wrapped)
    facts |= _application_facts(programs, app, labels, layout) | _source_facts(facts, layout)
    facts |= platform_files(platform).facts(board, driver_facts, wrapped)
    more = {**driver.on(platform), **device_files(platform, devices)}
    library = _render_library(environment, layout, more, programs, facts) | _copies(wrapped)
    library[f"{LIBRARY}/{RECORD}"] = deviations(library, _names(programs))
    library, facts["digest"] = imprint(library, programs, facts, driver, wrapped, app)
    page = review_facts(programs, library, packed.paths if packed else ())
    library[REVIEW] = _render(environment, REVIEW, facts | page)
    library |= pack_files(packed, environment, board, library, facts) if packed else {}
    library[MANIFEST] = make_manifest(
        programs, whole, facts["digest"], library, platform, memory_mode, app
    )
    facts |= ci_facts(programs[0], board, platform, ci_ethosgen) if with_ci else {}
    application = _render_application(environment, layout, facts, with_ci)
    application |= (ci_wheel(ci_ethosgen) if with_ci else {}) | application_licences()
    return Project(
        names=_names(programs),
        board=board.name,
        npu=programs[0].plan.npu,
        io=programs[0].io,
        memory_mode=memory_mode,
        platform=platform,
        security=Security.NON_SECURE if board.is_non_secure else Security.SECURE,
        digest=facts["digest"],
        files=dict(sorted({**application, **library}.items())),
        library=frozenset(library),
        app=app,
    )


def _names(programs: Sequence[Program]) -> tuple[str, ...]:
    return tuple(program.name for program in programs)


def _devices(programs: Sequence[Program], platform: str, board: Board) -> Sequence[Device]:
    """Return the devices of all programs; InputError if the firmware cannot drive one."""
    devices = unite([device for program in programs for device in program.plan.devices])
    require_devices(platform, board, devices)
    return devices


def _driver_files(programs: Sequence[Program]) -> ProjectFiles:
    """Return the files of the driver for the programs' common NPU, if any."""
    npu = programs[0].plan.accelerator
    return compiler_of(npu).files([p.plan for p in programs]) if npu else ProjectFiles()


def _checked_layout(
    programs: Sequence[Program],
    board: Board,
    platform: str,
    handover: Handover | None,
    app: str | None,
) -> Layout:
    layout = find_layout(platform, board, handover)
    check_platform(board, platform)
    if app is not None:
        networks = [program.plan.network for program in programs]
        layout = with_application(layout, find_application(app), networks)
    if programs[0].plan.apart:
        layout = with_weights(layout, platform, app)
    if find_platform(platform).is_built and platform not in board.platforms:
        raise InputError(_missing_platform(board, platform))
    check_names([program.name for program in programs])
    check_ports(programs)
    return layout


def _source_facts(facts: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return the C files of the library and of the application."""
    own = [
        f"{network['folder']}{file}"
        for network in facts["networks"]
        for file in network["own_sources"]
    ]
    return {
        "application_sources": [file for file in layout.application if file.endswith(".c")],
        "sources": [*own, *facts["shared_sources"], "ethosgen_networks.c"],
    }


def _application_facts(
    programs: Sequence[Program], app: str | None, labels: Sequence[str], layout: Layout
) -> dict[str, Any]:
    """Return more of the templates' values, for an application."""
    if app is None:
        return {"app": None}
    application, networks = find_application(app), [program.plan.network for program in programs]
    own = [file for file in layout.application if file.startswith(f"{APPLICATION}/")]
    return {
        "app": application,
        "app_sources": sorted(file for file in own if file.endswith(".c")),
        **application.facts(networks),
        **({"labels": labels} if labels else {}),
    }


def _wrapped_files(programs: Sequence[Program], platform: str) -> list[ProjectFiles]:
    """Return the files of users' accelerators, each once."""
    plans = [program.plan for program in programs]
    accelerators = {
        accelerator.name: accelerator for plan in plans for accelerator in wrapped_of(plan)
    }
    files = {name: accelerator.files(plans) for name, accelerator in accelerators.items()}
    check_wrapped(files, platform)
    return list(files.values())


def _copies(wrapped: Sequence[ProjectFiles]) -> dict[str, bytes]:
    return {f"{LIBRARY}/{path}": data for files in wrapped for path, data in files.copies.items()}


def _with_wrapped(facts: Mapping[str, Any], wrapped: Sequence[ProjectFiles]) -> dict[str, Any]:
    """Return the templates' values, with those for users' accelerators."""
    sources = [source for files in wrapped for source in files.sources]
    return {
        **facts,
        "shared_sources": [*facts["shared_sources"], *sources],
        "wrapped_sources": sources,
        "wrapped_includes": [folder for files in wrapped for folder in files.includes],
        "wrapped_options": WRAPPED_OPTIONS,
        "wrapped_libraries": [library for files in wrapped for library in files.libraries],
        "external": [external for files in wrapped for external in files.external],
    }


def _missing_platform(board: Board, platform: str) -> str:
    if board.platforms:
        known = f"it has: {', '.join((*board.platforms, LIBRARY_ONLY))}"
    else:
        known = (
            f"ethosgen has no start-up code for it; --platform {LIBRARY_ONLY} creates the network "
            "as a C library for your own application"
        )
    return f"board '{board.name}' has no platform '{platform}'; {known}"


def _render(environment: jinja2.Environment, template: str, facts: Mapping[str, Any]) -> bytes:
    return environment.get_template(template).render(facts).encode()


def _facts(
    programs: Sequence[Program],
    board: Board,
    memory_mode: str,
    driver: ProjectFiles,
    networks: Sequence[Mapping[str, Any]],
    extras: tuple[Sequence[Device], Handover | None, str],
) -> dict[str, Any]:
    """Return the templates' values for the whole project."""
    npu, (devices, _, platform) = programs[0].plan.accelerator, extras
    emulated = board.on_qemu
    stand_in = emulated if emulated is not board else None
    rest = (memory_mode, npu is not None, *extras)
    is_shared = len(programs) > 1
    kernels = {n for p in programs for n in p.sources if n.endswith(".c") and not is_own(p, n)}
    names = list(_names(programs))
    return {
        "networks": networks,
        "names": names,
        "is_shared": is_shared,
        "apart": programs[0].plan.apart,
        "platform": find_platform(platform),
        "title": " and ".join(names),
        "project": joined_name(names),
        "version": __version__,
        "digest": NO_DIGEST,
        "npu": npu.name if npu else None,
        "product": npu.product if npu else None,
        "io": programs[0].io.value,
        "most_arena_bytes": max(network["arena_bytes"] for network in networks),
        "most_arena_alignment": max(network["arena_alignment"] for network in networks),
        "most_steps": max(len(program.steps) for program in programs),
        "most_fast_bytes": max(network["fast_bytes"] for network in networks),
        "kernel_sources": sorted(kernels),
        "kernel_options": KERNEL_OPTIONS,
        "graph_options": {
            f"{network['folder']}{network['graph_source']}": network["graph_options"]
            for network in networks
            if network["graph_source"]
        },
        "shared_sources": [
            *(["ethosgen_arena.c"] if is_shared else []),
            *["ethosgen_self_test.c", "ethosgen_weights.c"][: 2 if programs[0].plan.apart else 1],
            *driver.sources,
            *(["ethosgen_devices.c"] if devices else []),
            *sorted(kernels),
        ],
        "libraries": [
            *([{"name": "ethosgen", "suffix": ""}] if is_shared else []),
            *({"name": name, "suffix": f".{name}" if is_shared else ""} for name in names),
        ],
        "buffer_alignment": shared_alignment(board, bool(npu or devices)),
        "copies": board.placement(memory_mode).copied_from is not None,
        "npu_byte": bell_byte(None),
        "ways": list(ways(board)),
        "secure": secure_facts(board, list(ways(board))),
        **_board_facts(board, list(ways(board)), *rest),
        "stand_in": stand_in,
        "stand_in_facts": _board_facts(stand_in, ["qemu"], *rest) if stand_in else {},
    }


def _board_facts(
    board: Board,
    chosen: Sequence[str],
    memory_mode: str,
    has_npu: bool,
    devices: Sequence[Device],
    handover: Handover | None,
    platform: str,
) -> dict[str, Any]:
    """Return the values for a board's own code, in the chosen ways that it runs itself."""
    bell = board.run.qemu.bell if board.run.qemu and (has_npu or devices) else None
    irqs = _irqs(board, has_npu, bell, _lines(handover, board))
    known_devices = device_facts(board, devices, irqs, platform)
    irqs += [device["irq"] for device in known_devices if device["irq"] is not None]
    own = [way for way in chosen if host_board(board, way) is board]
    return {
        "board": board,
        "bell": bell,
        "devices": known_devices,
        "irq_count": max(irqs, default=0) + 1,
        "handover": _handover_facts(handover, board),
        "ways_facts": _ways_facts(board, own, memory_mode, devices),
        "has_commands": board.placement(memory_mode).commands is not None,
    }


def _irqs(board: Board, has_npu: bool, bell: Bell | None, lines: Sequence[LinkLine]) -> list[int]:
    """Return the interrupts that the application uses, without those of devices."""
    irqs = [
        board.console.rx_irq if board.console else None,
        board.npu.irq if board.npu and has_npu else None,
        bell.rx_irq if bell else None,
        *(irq for line in lines for irq in (line.rx_irq, line.tx_irq)),
    ]
    return [irq for irq in irqs if irq is not None]


def _handover_facts(handover: Handover | None, board: Board) -> dict[str, Any] | None:
    if handover is None:
        return None
    return {
        **{name: getattr(handover, name) for name in Handover.__dataclass_fields__},
        "is_serial": handover.is_serial,
        "identity_words": handover.identity_words,
        "links": _lines(handover, board),
        "has_dcache": board.cpu.dcache,
    }


def _lines(handover: Handover | None, board: Board) -> Sequence[LinkLine]:
    """Return the board's lines that an element uses: those before it, and those behind it.

    Only the router of a mesh uses their transmit interrupts.
    """
    lines = board.links[: handover.lines] if handover else ()
    if handover and handover.mesh:
        return lines
    return [line.model_copy(update={"tx_irq": None}) for line in lines]


def _ways_facts(
    board: Board, chosen: Sequence[str], memory_mode: str, devices: Sequence[Device]
) -> list[dict[str, Any]]:
    return [
        {
            "id": way,
            "comment": comment,
            "npu_base_addr": npu_base_addr(board, way),
            "device_addrs": device_addrs(board, way, devices),
            **memory_map(board, way, memory_mode, devices),
        }
        for way, comment in ways(board).items()
        if way in chosen
    ]


def _driver_facts(
    npu: Accelerator | None,
    board: Board,
    mode: str,
    platform: str,
    networks: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Return the backend's values for the templates, none without an accelerator."""
    if npu is None:
        return {}
    memories = board.memories_in(board.choose_memory_mode(mode, npu))
    partitions = [stream for network in networks for stream in network["streams"]]
    return driver_of(npu).firmware_facts(npu, memories, platform, partitions)


def _render_library(
    environment: jinja2.Environment,
    layout: Layout,
    driver: Mapping[str, str],
    programs: Sequence[Program],
    facts: Mapping[str, Any],
) -> dict[str, bytes]:
    """Render the files that generating again replaces, except the manifest."""
    templates = {
        **layout.library,
        **driver,
        **(layout.shared if len(programs) > 1 else {}),
    }
    files = {path: source.read_bytes() for path, source in layout.copies.items()}
    files |= {path: _render(environment, template, facts) for path, template in templates.items()}
    sources = {}
    for program, network in zip(programs, facts["networks"], strict=True):
        own = _render_network(environment, layout, program, {**facts, **network})
        sources[program.name] = "".join(
            text.decode() for path, text in own.items() if path.endswith((".c", ".h"))
        )
        folder = folder_of(program, programs)
        files |= {f"{folder}{path}": text for path, text in own.items()}
        files |= {
            path: text.encode()
            for path, text in program.sources.items()
            if not is_own(program, path)
        }
    check_symbols(sources)
    return {f"{LIBRARY}/{path}": content for path, content in files.items()}


def _render_network(
    environment: jinja2.Environment, layout: Layout, program: Program, facts: Mapping[str, Any]
) -> dict[str, bytes]:
    """Render one network's own files, by their paths in its folder."""

    def words(what: str, section: str, arrays: list[dict[str, Any]]) -> bytes:
        more = {"what": what, "section": section, "arrays": arrays}
        return _render(environment, f"{LIBRARY}/words.c", {**facts, **more})

    name = program.name
    files = {
        path.format(name=name): _render(environment, template, facts)
        for path, template in layout.network.items()
    }
    files |= {p: text.encode() for p, text in program.sources.items() if is_own(program, p)}
    source = source_of(program.plan.network)
    if program.plan.apart:

        def with_digest(digest: list[str]) -> bytes:
            own = layout.network["{name}.c"]
            return _render(environment, own, {**facts, "weights_digest": digest})

        files |= weights_files(program, files, with_digest)
    files[f"{name}{suffix_of(source)}"] = source.data
    if program.plan.apart:
        return files
    if commands := blob_arrays(program, "commands"):
        files[f"{name}_commands.c"] = words("command streams", "commands", commands)
    if weights := [*blob_arrays(program, "weights"), *constant_arrays(program)]:
        files[f"{name}_weights.c"] = words("weights and other constants", "weights", weights)
    return files


def _render_application(
    environment: jinja2.Environment, layout: Layout, facts: Mapping[str, Any], with_ci: bool
) -> dict[str, bytes]:
    """Render the files that are the user's after the first generation."""
    templates = {**layout.application, **(CI_FILES if with_ci else {})}
    files = {path: source.read_bytes() for path, source in layout.application_copies.items()}
    files |= {path: _render(environment, template, facts) for path, template in templates.items()}
    if layout.is_built:
        files[".gitignore"] = b"/build/\n"
    if layout.way is None:
        return files
    path, template = layout.way
    for way in facts["ways_facts"]:
        way_facts = {**facts, **way, "way_comment": way["comment"]}
        files[path.format(way=way["id"])] = _render(environment, template, way_facts)
    return files | _render_stand_in(environment, facts)


def _render_stand_in(environment: jinja2.Environment, facts: Mapping[str, Any]) -> dict[str, bytes]:
    """Render the files of the board that stands in on QEMU, if there is one."""
    if facts["stand_in"] is None:
        return {}
    (way,) = facts["stand_in_facts"]["ways_facts"]
    facts = {**facts, **facts["stand_in_facts"], **way, "way_comment": way["comment"]}
    files = stand_in_files(facts["stand_in"])
    return {path: _render(environment, template, facts) for path, template in files.items()}
