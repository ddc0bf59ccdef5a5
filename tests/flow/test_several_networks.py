"""Several networks in one firmware: names, memory, manifest, what is kept, and turns on QEMU."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.commands.junit_suites import make_suites
from ethosgen.project import Project, open_project, render, write
from ethosgen.project.clashes import check_names, check_symbols
from ethosgen.values.errors import CapacityError, InputError, UnsupportedError
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import IoStyle, PlanSummary
from ethosgen.values.program import Program, Variable
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.programs import SCRATCH_BYTES, make_cpu_program, make_program, with_weights
from tests.support.recipes import recipe
from tests.support.small_models import image_net, recurrent_net, two_inputs

BOARD = load_board("corstone300")
RANDOM = Inputs(None, 3, 2)


def larger(name: str, arena_bytes: int) -> Program:
    return dataclasses.replace(make_program(name=name), arena_bytes=arena_bytes)


def render_two(arena_bytes: int = 2 * SCRATCH_BYTES) -> Project:
    return render([make_program(name="wake"), larger("word", arena_bytes)], BOARD)


def text(project: Project, path: str) -> str:
    return project.files[path].decode()


# ---- what is rendered --------------------------------------------------------------------------


def test_each_network_has_a_folder_and_the_driver_is_there_once() -> None:
    files = set(render_two().files)
    for name in ("wake", "word"):
        own = {f"model/{name}/{name}{end}" for end in (".h", ".c", "_graph.c", "_commands.c")}
        assert own <= files
    assert len([path for path in files if path.endswith("ethosgen_npu_direct.c")]) == 1
    assert len([path for path in files if path.endswith("main.c")]) == 1


def test_the_arena_is_as_large_as_the_largest_needs() -> None:
    project = render_two()
    arena = text(project, "model/ethosgen_arena.h")
    assert f"#define ETHOSGEN_ARENA_BYTES {2 * SCRATCH_BYTES}\n" in arena
    for name in ("wake", "word"):
        source = text(project, f"model/{name}/{name}.c")
        assert f"static_assert({name.upper()}_ARENA_BYTES <= ETHOSGEN_ARENA_BYTES" in source
        assert f"{name}_arena" not in source
        assert "shared with" in text(project, f"model/{name}/{name}.h")


@pytest.mark.parametrize("platform", ["baremetal", "zephyr", "csolution"])
def test_every_platform_builds_every_source(platform: str) -> None:
    networks = [make_program(name="wake"), make_program(name="word")]
    project = render(networks, BOARD, platform=platform)
    script = {"csolution": "model/model.clayer.yml"}.get(platform, "model/CMakeLists.txt")
    listed = text(project, script)
    for path in project.library:
        file = path.removeprefix("model/")
        if file.endswith(".c") and not file.startswith(("ethosgen/", "ethosgen_npu_")):
            assert file in listed


def test_what_the_npu_keeps_in_the_arena_is_kept_apart() -> None:
    variable = Variable("cell", "arena", 64, 20, 0x80)
    keeps = dataclasses.replace(make_program(name="keeps"), variables=(variable,))
    alone = text(render(keeps, BOARD), "model/keeps.c")
    assert "memset(&keeps_arena[64], 128, 20);" in alone and "keep_state" not in alone
    source = text(render([keeps, make_program(name="other")], BOARD), "model/keeps/keeps.c")
    assert "static int8_t keeps_kept[20];" in source
    assert "memset(&keeps_kept[0], 128, 20);" in source
    assert "memcpy(&ethosgen_arena[64], &keeps_kept[0], 20);" in source
    assert "memcpy(&keeps_kept[0], &ethosgen_arena[64], 20);" in source


def test_networks_on_the_cpu_alone() -> None:
    networks = [make_cpu_program("wake"), make_cpu_program("word")]
    project = render(networks, BOARD)
    assert "#define ETHOSGEN_HAS_NPU 0" in text(project, "model/ethosgen_networks.h")
    assert "model/ethosgen_npu.h" not in project.files


# ---- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("net", "net"), ("net", "Net")])
def test_two_networks_of_one_name(names: tuple[str, str]) -> None:
    said = r"two networks are called .* in their order: --name other --name net_1 --name net_2$"
    with pytest.raises(InputError, match=said):
        render([make_program(name=name) for name in ("other", *names)], BOARD)
    check_names(["other", "net_1", "net_2"])


def test_two_networks_that_define_the_same() -> None:
    sources = {"net": "int8_t *net_b_input(void);", "net_b": "int8_t *net_b_input(void);"}
    with pytest.raises(InputError, match="'net' and 'net_b' would both define net_b_input in C"):
        check_symbols(sources)
    check_symbols({"net": "net_run NET_BYTES", "net_b": "net_b_run NET_B_BYTES"})


def test_as_many_names_as_networks(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    for names, times in ((["one"], "1 time"), (["one", "two", "three"], "3 times")):
        with pytest.raises(InputError, match=f"got --name {times} for 2 networks"):
            flow.create_project(
                recipe(path, path, names=tuple(names)),
                watch=Watch(),
            )


# ---- capacity ----------------------------------------------------------------------------------


def test_a_network_that_does_not_fit_is_named() -> None:
    with pytest.raises(CapacityError, match=r"^'word' does not fit .* needs 32 bytes more"):
        render_two((2 << 20) + 16)


def test_arenas_do_not_add_up_and_weights_do() -> None:
    big = larger("one", 1500 << 10), larger("two", 1500 << 10)
    render(big, BOARD)
    heavy = [dataclasses.replace(p, plan=with_weights(p.plan, bytes(300 << 10))) for p in big]
    with pytest.raises(CapacityError, match=r"^'one' and 'two' together do not fit .*'isram'"):
        render(heavy, BOARD, memory_mode="sram_only")


# ---- on disk -----------------------------------------------------------------------------------


def test_the_manifest_tells_of_all(tmp_path: Path) -> None:
    project = render_two()
    write(project, tmp_path / "p")
    info = open_project(tmp_path / "p")
    assert info.names == ("wake", "word")
    assert [n.source.relative_to(tmp_path / "p").as_posix() for n in info.networks] == [
        "model/wake/wake.tflite",
        "model/word/word.tflite",
    ]
    assert info.networks[1].parts["arena"] == 2 * SCRATCH_BYTES
    assert info.index("word") == 1
    with pytest.raises(InputError, match="has no network 'none'; it has: wake, word"):
        info.index("none")


def test_other_networks_do_not_mix(tmp_path: Path) -> None:
    write(render_two(), tmp_path / "p")
    for other in (make_program(name="wake"), [make_program(name=n) for n in ("wake", "third")]):
        with pytest.raises(InputError, match="generated with the networks 'wake, word'"):
            write(render(other, BOARD), tmp_path / "p")


@pytest.mark.slow
def test_one_of_two_is_generated_again(tmp_path: Path) -> None:
    image, other = image_net(tmp_path / "one.tflite"), two_inputs(tmp_path / "two.tflite")
    place = tmp_path / "p"

    def create(*paths: Path, **options: object) -> flow.Written:
        wanted = recipe(*paths, **options)  # type: ignore[arg-type]
        return flow.create_project(wanted, directory=place, watch=Watch())

    create(image, other, cpu_ops=["AVERAGE_POOL_2D"])
    kept = (place / "model/one/one_graph.c").read_bytes()
    (place / "app/main.c").write_text("mine")
    assert create(other, cpu_ops=["AVERAGE_POOL_2D"]).files == frozenset()
    assert "model/two/two.c" in create(other, cpu_ops=["ADD"]).files
    assert (place / "model/one/one_graph.c").read_bytes() == kept, "its own options are kept"
    assert (place / "app/main.c").read_text() == "mine"
    assert open_project(place).networks[1].options.cpu_ops == ("ADD",)
    assert create(other, image, cpu_ops=["ADD"]).programs[0].name == "one", "the order stays"


# ---- reports -----------------------------------------------------------------------------------


def report_of(name: str, mismatches: int) -> Report:
    plan = PlanSummary("none", 0, 0, (), 0, 0)
    golden = OutputComparison("tflm", mismatches, 10, 0)
    return Report(name, "b", "qemu", plan, 2, golden, None, ended=True)


@pytest.mark.parametrize(("second", "verdict"), [(0, "PASS"), (1, "FAIL")])
def test_all_must_pass(second: int, verdict: str) -> None:
    both = FirmwareReport((report_of("one", 0), report_of("two", second)), {}, {}, {}, {})
    assert both.verdict == verdict and both.passed == (verdict == "PASS")
    answer = both.as_json()
    assert (answer["verdict"], answer["samples"], answer["mismatches"]) == (verdict, 2, second)
    assert [network["model"] for network in answer["networks"]] == ["one", "two"]
    (suite,) = make_suites("p", both, None)
    assert (suite.failures, suite.tests) == (second, 4)
    assert {case.classname for case in suite} == {"ethosgen.p.one", "ethosgen.p.two"}


# ---- firmware ----------------------------------------------------------------------------------


@needs_qemu
def test_three_networks_take_turns(tmp_path: Path) -> None:
    """One has an operator on the CPU, one a state in the arena, one a state beside it."""
    state = recurrent_net(tmp_path / "state.tflite")
    written = flow.create_project(
        recipe(
            image_net(tmp_path / "image.tflite"),
            state,
            state,
            names=(
                "image",
                "state",
                "twin",
            ),
            cpu_ops=("AVERAGE_POOL_2D",),
        ),
        directory=tmp_path / "p",
        watch=Watch(),
    )
    assert "keep_state" in (tmp_path / "p/model/state/state.c").read_text()
    assert len(written.programs[0].plan.cpu_operators) == 1
    built = flow.build_project(tmp_path / "p", watch=Watch())
    arenas = [program.arena_bytes for program in written.programs]
    assert max(arenas) <= built.sizes.ram["arena"] < max(arenas) + 16
    report = flow.run_project(tmp_path / "p", flow.RunOptions(RANDOM), watch=Watch())
    assert isinstance(report, FirmwareReport)
    assert report.passed and [network.samples for network in report.reports] == [3, 3, 3]
    assert report.shared_bytes["code"] > 400
    own = [network.network_bytes for network in report.reports]
    assert all(share is not None and 0 < share["code"] < 2048 for share in own)
    alone = flow.run_project(tmp_path / "p", flow.RunOptions(RANDOM), network="twin", watch=Watch())
    assert isinstance(alone, Report) and alone.passed and alone.network == "twin"
    wrong: tuple[Callable[[], object], ...] = (
        lambda: flow.run_project(
            tmp_path / "p", flow.RunOptions(Inputs(tmp_path / "x.npz", 1, 0)), watch=Watch()
        ),
        lambda: flow.run_project(
            tmp_path / "p", flow.RunOptions(RANDOM, output_path=tmp_path / "y.npz"), watch=Watch()
        ),
    )
    for ask in wrong:
        with pytest.raises(
            InputError, match="is for one network, but there are 3; choose one with"
        ):
            ask()


@needs_qemu
@needs_zephyr
def test_two_networks_on_zephyr(tmp_path: Path) -> None:
    state = recurrent_net(tmp_path / "state.tflite")
    report = flow.verify(
        recipe(state, image_net(tmp_path / "image.tflite"), platform="zephyr"),
        flow.RunOptions(RANDOM),
        watch=Watch(),
    )
    assert isinstance(report, FirmwareReport) and report.passed


@needs_qemu
def test_two_networks_with_buffers_of_their_own(tmp_path: Path) -> None:
    report = flow.verify(
        recipe(
            image_net(tmp_path / "image.tflite"),
            two_inputs(tmp_path / "sums.tflite"),
            io=IoStyle.CALLER.value,
            npu="ethos-u65-512",
        ),
        flow.RunOptions(RANDOM),
        watch=Watch(),
    )
    assert isinstance(report, FirmwareReport) and report.passed


def test_more_ports_than_a_firmware_numbers_are_refused(tmp_path: Path) -> None:
    net = NetworkBuilder("many", seed=2)
    path = tmp_path / "many.tflite"
    path.write_bytes(net.build(*(net.logistic(net.input((1, 4))) for _ in range(256))))
    with pytest.raises(
        UnsupportedError, match=r"has 256 inputs, and an application numbers at most 255"
    ):
        flow.create_project(
            recipe(path, npu="none", check=False), directory=tmp_path / "project", watch=Watch()
        )
    assert not (tmp_path / "project").exists()
