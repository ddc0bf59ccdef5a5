"""The command lines of others' scripts, word by word, are understood.

Each is what the script passes after its shell has read it; the files are named, and not copied.
"""

from pathlib import Path

import pytest

from ethosgen.values.errors import InputError
from ethosgen_fvp.command_line import CommandLine, read_command_line
from ethosgen_fvp.parameters import ParameterValues
from ethosgen_fvp.platforms import PLATFORMS, find_platform

U55, U65, SSE320 = (
    "FVP_Corstone_SSE-300_Ethos-U55",
    "FVP_Corstone_SSE-300_Ethos-U65",
    "FVP_Corstone_SSE-320",
)


def understood(name: str, words: list[str]) -> tuple[CommandLine, ParameterValues]:
    """Return a command line of which nothing is ignored."""
    line = read_command_line(name, words)
    values = ParameterValues(find_platform(name), line.parameters)
    assert not list(values.unknown()) and not line.ignored
    return line, values


def settings(*parameters: str) -> list[str]:
    return [word for parameter in parameters for word in ("-C", parameter)]


def test_tflite_micro() -> None:
    """tensorflow/lite/micro/testing/test_with_arm_corstone_300.sh: quotes, and ELF without -a."""
    words = settings(
        "ethosu.num_macs=256",
        "mps3_board.visualisation.disable-visualisation=1",
        "mps3_board.telnetterminal0.start_telnet=0",
        'mps3_board.uart0.out_file="-"',
        "mps3_board.uart0.unbuffered_output=1",
        "mps3_board.uart0.shutdown_on_eot=1",
    )
    line, values = understood(U55, [*words, "--stat", "bin/kernel_conv_test"])
    assert line.applications == (Path("bin/kernel_conv_test"),) and line.has_statistics
    assert values.macs() == 256 and values.uart(0, "out_file") == "-"
    assert values.ends_on_eot(0) and not values.ends_on_eot(1) and not values.has_semihosting()


@pytest.mark.parametrize(
    ("name", "board", "subsystem", "more"),
    [
        (U55, "mps3_board", "", ()),
        (
            SSE320,
            "mps4_board",
            "mps4_board.subsystem.",
            ("vis_hdlcd.disable_visualisation=1",),
        ),
    ],
)
def test_executorch_run_fvp(name: str, board: str, subsystem: str, more: tuple[str, ...]) -> None:
    """backends/arm/scripts/run_fvp.sh, with --data."""
    words = settings(
        f"{subsystem}ethosu.num_macs=128",
        f"{board}.visualisation.disable-visualisation=1",
        *more,
        f"{board}.telnetterminal0.start_telnet=0",
        f"{board}.uart0.out_file=-",
        f"{board}.uart0.shutdown_on_eot=1",
    )
    end = ["-a", "runner.elf", "--data", "net.pte@0x38000000", "--timelimit", "600"]
    line, values = understood(name, [*words, *end])
    assert line.applications == (Path("runner.elf"),)
    assert line.data == ((Path("net.pte"), 0x38000000),) and line.time_limit_s == 600
    assert values.macs() == 128 and values.ends_on_eot(0)


@pytest.mark.parametrize(
    ("name", "board", "subsystem", "more"),
    [
        (U55, "mps3_board", "", ()),
        (U65, "mps3_board", "", ()),
        (
            SSE320,
            "mps4_board",
            "mps4_board.subsystem.",
            (
                "vis_hdlcd.disable_visualisation=1",
                "mps4_board.uart0.unbuffered_output=1",
                "mps4_board.uart0.shutdown_on_eot=1",
            ),
        ),
    ],
)
def test_executorch_runner_utils(
    name: str, board: str, subsystem: str, more: tuple[str, ...]
) -> None:
    """backends/arm/test/runner_utils.py: semihosting, whose values have quotes."""
    program = "executor_runner -m program.pte -o out -i i0.bin"
    words = settings(
        f"{subsystem}ethosu.num_macs=256",
        f"{board}.visualisation.disable-visualisation=1",
        *more,
        f"{board}.telnetterminal0.start_telnet=0",
        f"{board}.uart0.out_file='-'",
        f"{subsystem}cpu0.semihosting-enable=1",
        f"{subsystem}cpu0.semihosting-stack_base=0",
        f"{subsystem}cpu0.semihosting-heap_limit=0",
        f"{subsystem}cpu0.semihosting-cwd=/tmp/work",
        f"{subsystem}ethosu.extra_args='--fast'",
        f"{subsystem}cpu0.semihosting-cmd_line='{program}'",
    )
    line, values = understood(name, [*words, "-a", "runner", "--timelimit", "120"])
    assert line.time_limit_s == 120 and values.has_semihosting()
    assert values.processor("semihosting-cmd_line") == program
    assert values.processor("semihosting-cwd") == "/tmp/work"
    assert values.npu("extra_args") == "--fast" and values.uart(0, "out_file") == "-"


def test_executorch_run_fvp_for_the_processor() -> None:
    """The same script's other branch, for --target=cortex-m55."""
    words = settings(
        "ethosu.num_macs=128",
        "mps3_board.visualisation.disable-visualisation=1",
        "mps3_board.telnetterminal0.start_telnet=0",
        "mps3_board.uart0.out_file=-",
        "mps3_board.uart0.shutdown_on_eot=1",
        "cpu0.semihosting-enable=1",
        "cpu0.semihosting-stack_base=0",
        "cpu0.semihosting-heap_limit=0",
        "cpu0.semihosting-cwd=/b",
        "ethosu.extra_args=--fast",
        "cpu0.semihosting-cmd_line=executor_runner -m a.bpte -i fvp_dummy_input.bin -o out",
    )
    _, values = understood(U55, [*words, "-a", "/b/runner.elf", "--timelimit", "600"])
    assert values.processor("semihosting-cmd_line").endswith("-o out") and values.ends_on_eot(0)


@pytest.mark.parametrize(
    ("name", "board", "more"),
    [
        (U55, "mps3_board", ()),
        (
            "FVP_Corstone_SSE-310",
            "mps3_board",
            ("mps3_board.sse300.iotss3_systemcontrol.INITSVTOR_RST=0x31000000",),
        ),
        (
            "FVP_Corstone_SSE-315",
            "mps4_board",
            (
                "vis_hdlcd.disable_visualisation=1",
                "mps4_board.subsystem.iotss3_systemcontrol.INITSVTOR_RST=0x31000000",
            ),
        ),
    ],
)
def test_zephyr(name: str, board: str, more: tuple[str, ...]) -> None:
    """boards/arm/mps3 and mps4, board.cmake, with cmake/emu/armfvp.cmake's -a."""
    words = settings(
        f"{board}.visualisation.disable-visualisation=1",
        f"{board}.telnetterminal0.start_telnet=0",
        f"{board}.uart0.out_file=-",
        f"{board}.uart0.unbuffered_output=1",
        *more,
    )
    line, values = understood(name, [*words, "-a", "build/zephyr/zephyr.elf"])
    assert line.applications == (Path("build/zephyr/zephyr.elf"),)
    if more:
        assert values.vectors() == 0x31000000


def test_tvm() -> None:
    """tests/python/relay/aot/corstone300.mk: sizes of memories, and a text that ends the run."""
    words = settings(
        "cpu0.CFGDTCMSZ=15",
        "cpu0.CFGITCMSZ=15",
        'mps3_board.uart0.out_file="-"',
        'mps3_board.uart0.shutdown_tag="EXITTHESIM"',
        "mps3_board.visualisation.disable-visualisation=1",
        *(f"mps3_board.telnetterminal{number}.start_telnet=0" for number in (0, 1, 2, 5)),
        "ethosu.extra_args=--fast",
        "ethosu.num_macs=128",
    )
    line, values = understood(U55, [*words, "build/aot_test_runner"])
    assert line.applications == (Path("build/aot_test_runner"),)
    assert values.uart(0, "shutdown_tag") == "EXITTHESIM" and not values.ends_on_eot(0)


CONFIGS = {
    "mps3": (
        "mps3_board.visualisation.disable-visualisation=1   # (bool, init-time) default = '0'\n"
        "mps3_board.uart0.shutdown_on_eot=1 # (bool  , init-time) default = '0'\n"
        "ethosu.num_macs=256 # (int, init-time) default = '0x80' : Number of 8x8 MACs\n"
        "cpu0.CFGITCMSZ=11   # (int, init-time) default = '0xb'\n#----------\n"
    ),
    "mps4": (
        "# Parameters:\nmps4_board.visualisation.disable-visualisation=1 # (bool)\n"
        "vis_hdlcd.disable_visualisation=1 # (bool)\n"
        "mps4_board.uart0.shutdown_on_eot=1 # (bool)\n"
        "mps4_board.subsystem.ethosu.num_macs=256 # (int) default = '0x100'\n"
    ),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_arm_ml_examples(name: str, tmp_path: Path) -> None:
    """mlek-cmsis-pack-examples, .github/workflows/AVH-FVP-CI.yml: a file of parameters."""
    board = PLATFORMS[name].prefix.removesuffix("_board")
    config = tmp_path / f"{board}_fvp_config.txt"
    config.write_text(CONFIGS[board])
    out = f"{board}_board.uart0.out_file=./out/fvp_stdout.log"
    end = ["-C", out, "--simlimit", "60", "--stat"]
    line, values = understood(name, ["-a", "./out/kws.axf", "-f", str(config), *end])
    assert line.simulated_limit_s == 60 and line.has_statistics
    assert values.macs() == 256 and values.ends_on_eot(0)
    assert values.uart(0, "out_file") == "./out/fvp_stdout.log"


@pytest.mark.parametrize(
    "words", [["-a", "cpu0*=a.axf"], ["--application", "cpu0=a.axf"], ["--application=a.axf"]]
)
def test_an_application_may_name_its_processor(words: list[str]) -> None:
    line, _ = understood(U55, words)
    assert line.applications == (Path("a.axf"),)


def test_several_applications_and_data() -> None:
    """TF-M's way: a boot loader, and images by --data."""
    words = ["-a", "cpu0*=bl2.axf", "-a", "ns.axf", "--data", "cpu0=signed.bin@0x38000000"]
    line, _ = understood(U55, [*words, "-C", "mps3_board.uart0.out_file=/dev/stdout"])
    assert line.applications == (Path("bl2.axf"), Path("ns.axf"))
    assert line.data == ((Path("signed.bin"), 0x38000000),)


@pytest.mark.parametrize(
    "word",
    [
        "cpu0=out.bin@Memory:0x93000000,1024",
        "out.bin@0x93000000,0x400",
        "'out.bin'@2466250752,1024",
    ],
)
def test_dumps(word: str) -> None:
    """The evaluation kit's way, for its inference runner."""
    line = read_command_line(U55, ["-a", "kws.axf", "--dump", word])
    assert line.dumps == ((Path("out.bin"), 0x93000000, 1024),) and not line.ignored


def test_the_command_line_counts_more_than_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("ethosu.num_macs=32\n")
    _, values = understood(U55, ["-f", str(config), "-C", "ethosu.num_macs=0x40"])
    assert values.macs() == 64


def test_what_has_no_effect_is_named() -> None:
    line = read_command_line(U55, ["-S", "--cyclelimit", "100", *settings("cpu0.MVE=0", "a.b=1")])
    assert line.ignored == ("--cyclelimit", "--cadi-server")
    values = ParameterValues(find_platform(U55), line.parameters)
    assert list(values.unknown()) == ["cpu0.MVE", "a.b"]
    network = "mps3_board.hostbridge.userNetworking"
    for value, names in (("0", []), ("1", [network])):
        values = ParameterValues(find_platform(U55), [f"{network}={value}"])
        assert list(values.unknown()) == names


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--no-such-option"], "unrecognized arguments: --no-such-option; .* lists the options"),
        (["-C", "ethosu.num_macs"], "write NAME=VALUE"),
        (["-C", "ethosu.num_macs=many"], "'many' is not a number"),
        (["-C", "mps3_board.uart0.shutdown_on_eot=perhaps"], "'perhaps' is neither 0 nor 1"),
        (["--data", "net.pte"], "write FILE@ADDRESS"),
        (["--dump", "out.bin@0x93000000"], "write FILE@ADDRESS,SIZE"),
        (["--dump", "out.bin@0x93000000,0"], "write FILE@ADDRESS,SIZE"),
        (["--timelimit", "-3"], "argument -T/--timelimit"),
        (["-f", "/none/config"], "cannot read '/none/config'"),
    ],
)
def test_bad_command_lines(words: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        _, values = understood(U55, words)
        values.macs()
        values.ends_on_eot(0)


@pytest.mark.parametrize("name", PLATFORMS)
def test_sizes_of_the_npu(name: str) -> None:
    platform = find_platform(name)
    assert platform.npu(256) == f"ethos-{platform.family}-256"
    with pytest.raises(InputError, match=f"{name} has no NPU with num_macs=3; it has: "):
        platform.npu(3)
