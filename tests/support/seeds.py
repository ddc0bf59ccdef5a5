"""What ethosgen's predecessors could do, what does it here, and the test that tries it.

python -m tests.support.seeds writes the table of docs/from_microtvm.md. A capability without a
test is "missing", with the reason.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests import ROOT
from tests.support.pages import between, table

PAGE = ROOT / "docs" / "from_microtvm.md"
START, END = "<!-- capabilities: start -->", "<!-- capabilities: end -->"
ADVICE = "run: python -m tests.support.seeds"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Capability:
    """One capability: the command or function here, and its test as FILE::FUNCTION below tests/.

    `missing` says what is not there, in full or in part.
    """

    what: str
    here: str
    test: str = ""
    missing: str = ""

    @property
    def state(self) -> str:
        """The state in words."""
        if not self.test:
            return f"missing: {self.missing}"
        return f"works, tried; missing: {self.missing}" if self.missing else "works, tried"

    def fault(self) -> str:
        """Return why its test does not try it, "" if there is none."""
        if not self.test:
            return "" if self.missing else f"'{self.what}' has neither a test nor a reason"
        file, _, function = self.test.partition("::")
        path = TESTS / file
        if not path.is_file():
            return f"there is no tests/{file}"
        known = {n.name for n in ast.walk(ast.parse(path.read_text())) if hasattr(n, "name")}
        is_test = function.startswith("test_") and function in known
        return "" if is_test else f"tests/{file} has no test {function}"


C = Capability
SEEDS: dict[str, tuple[Capability, ...]] = {
    "microTVM: code for Ethos-U, CMSIS-NN and Arm Compute Library": (
        C("C and command streams for Ethos-U55, U65 and U85", "`project --npu`",
          "flow/test_flow.py::test_firmware_equals_tflm"),
        C("a functional model instead of Arm's FVP", "`simulate`",
          "flow/test_flow.py::test_simulate_equals_tflm_on_every_npu"),
        C("CMSIS-NN", "`--accelerator cmsis-nn`",
          "accelerators/test_cmsis_nn.py::test_its_layers_equal_the_oracle"),
        C("Arm Compute Library", "`--accelerator acl`",
          "accelerators/test_acl.py::test_a_program_with_the_library_equals_the_oracle"),
        C("one arena for all tensors (USMP)", "always",
          "flow/test_several_networks.py::test_the_arena_is_as_large_as_the_largest_needs"),
        C("the caller's buffers (C interface, unpacked API)", "`project --io caller`",
          "frontend/pte/test_pte_firmware.py::test_a_callers_buffers_pass_too"),
        C("schedules found on the device (AutoTVM, meta schedule)", "`ethosgen.relax.tune()`",
          "relax/test_device.py::test_a_schedule_is_found_on_the_device",
          "ethosgen's own kernels are not tuned, but chosen by estimated cycles"),
    ),
    "microTVM: tvmc, Model Library Format, Project API, RPC": (
        C("compile, build, run", "`project`, `build`, `run`",
          "flow/test_flow.py::test_a_project_in_three_commands"),
        C("inputs and outputs as .npz", "`--input`, `-o`",
          "samples/test_samples.py::test_what_is_saved_can_be_loaded"),
        C("a profile of each step", "`verify --profile`",
          "flow/test_profiling.py::test_the_steps_are_the_whole"),
        C("a library to unpack into a build (Model Library Format)", "`project --platform library`",
          "project/test_library.py::test_every_board_yields_a_library_that_compiles"),
        C("its metadata", "`model/ethosgen.json`",
          "project/test_manifest.py::test_what_was_asked_for_survives"),
        C("projects of Zephyr", "`project --platform zephyr`",
          "flow/test_several_networks.py::test_two_networks_on_zephyr"),
        C("projects of Arduino", "`project --platform library`",
          "project/test_layout_builds.py::test_arduino_builds_a_sketch"),
        C("a template project of one's own", "a plug-in's platform",
          "platforms/test_platforms.py::test_a_registered_platform_has_projects_of_its_own"),
        C("generate, build, flash, run from Python", "`ethosgen.create_project()` …",
          "api/test_projects.py::test_a_run_reaches_a_board_or_a_computer"),
        C("flash a board", "`flash`",
          "targets/test_flasher.py::test_every_command_of_the_boards_can_be_made",
          "the tools are stand-ins; no board was connected"),
        C("run on a device over a serial line (RPC)", "`run --on serial`",
          "targets/test_serial_port.py::test_qemus_serial_line_is_as_good_as_a_boards",
          "the line leads to QEMU; no board was connected"),
        C("run on a computer under Linux (RPC)", "`run --on ssh`",
          "targets/test_linux.py::test_a_program_over_ssh_is_copied_run_and_removed",
          "the computer is this one; no tracker shares several devices"),
        C("any function of TVM on a device by RPC", "`ethosgen.relax.RemoteDevice`",
          "relax/test_device.py::test_a_function_computes_on_the_device_as_here",
          "no board was connected; each run builds a firmware"),
        C("a debugger beside the run", "`attach --gdb`",
          "targets/attach/test_debugger.py::test_an_answer_to_gdb_does_not_wait_for_an_acknowledgement"),
        C("partitioning inside a TVM program", "`ethosgen.relax.partition_for_ethosu()`",
          "relax/test_partition.py::test_it_computes_within_a_step_of_the_module_before"),
        C("libraries inside a TVM program", "`ethosgen.relax.partition_for_cmsisnn()` …",
          "relax/test_accelerators.py::test_libraries_by_the_names_that_tvm_had"),
    ),
    "UMA: accelerators of one's own": (
        C("a new accelerator in one file", "`accelerators new`",
          "commands/test_accelerators.py::test_a_new_accelerator_passes_its_check"),
        C("a device with registers, interrupt and model", "`accelerators new --device`",
          "accelerators/test_started_device.py::test_a_new_device_verifies_on_qemu"),
        C("patterns of operators", "`chain`, `where`",
          "backend/wrapped/test_conv.py::test_a_chain_is_one_exact_call"),
        C("passes and attributes of its own", "`python`",
          "backend/wrapped/test_python.py::test_a_class_refuses_packs_and_adds"),
        C("a mock-up instead of hardware", "`model`, in C or Python",
          "accelerators/test_matrix_engine.py::test_it_runs_alone_and_beside_an_npu"),
        C("a Verilated model", "`model`, in Verilog",
          "accelerators/test_verilog.py::test_rtl_verifies_on_qemu_and_its_cycles_are_measured"),
        C("errors of a driver or a model named", "`accelerators check`",
          "accelerators/test_started_device.py::test_a_check_names_a_planted_error"),
        C("costs measured", "`accelerators measure`",
          "studies/test_cost_tables.py::test_calls_take_what_driver_and_engine_take"),
        C("TIR passes, schedules and intrinsics registered by a class",
          "`call`, of a Python method",
          "accelerators/test_primfuncs.py::test_the_pages_class_is_exact_in_firmware",
          "they apply to the class's own TIR, not to ethosgen's kernels"),
    ),
    "TOSA, ExecuTorch and other front doors": (
        C("TOSA programs at the level of the specification", "`verify MODEL.tosa`",
          "suites/test_tosa.py::test_a_part_of_the_suite_passes"),
        C("programs of ExecuTorch", "`verify MODEL.pte`",
          "suites/test_executorch.py::test_a_part_of_the_suite_passes"),
        C("a partitioner for ExecuTorch", "`ethosgen.executorch`",
          "executorch/test_examples.py::test_an_example_is_whole_and_exact"),
        C("ONNX", "`verify MODEL.onnx`",
          "suites/test_onnx_nodes.py::test_a_part_of_the_suite_passes_or_is_refused"),
        C("Keras", "`quantize MODEL.keras`",
          "quantization/test_keras.py::test_the_quantized_network_answers_as_keras"),
        C("scripts that start Arm's FVP", "`fvp install`",
          "suites/test_fvp_programs.py::test_a_part_of_the_tests_passes"),
    ),
    "A mesh of 7,296 elements": (
        C("placement and simulation of the whole mesh", "`place`",
          "place/test_large.py::test_7296_elements_are_placed_and_simulated_in_a_minute"),
        C("operators larger than an element are cut", "`place`",
          "place/test_splitting.py::test_operators_that_do_not_fit_are_cut"),
        C("dead elements and links", "`place`",
          "place/test_routing.py::test_a_placement_with_defects_uses_nothing_that_is_broken"),
        C("firmware of a mesh, equal to the oracle", "`pipeline`",
          "stages/test_mesh.py::test_a_mesh_equals_the_oracle",
          "on QEMU a mesh has few elements, not 7,296"),
        C("the simulation beside the firmware", "`place`, `pipeline`",
          "place/test_beside_qemu.py::test_a_mesh_on_qemu_is_as_fast_as_place_says"),
    ),
}  # fmt: skip
"""The capabilities by their predecessor."""


def with_table(page: str) -> str:
    """Return the page with the capabilities."""
    return between(page, START, END, f"\n\n{capabilities()}\n")


def capabilities() -> str:
    """Return a table of each predecessor."""
    head = ("what it could do", "here", "state", "tried by, below `tests/`")
    parts = (f"### {name}\n\n{table(head, _rows(rows), 4)}\n" for name, rows in SEEDS.items())
    return "\n".join(parts)


def _rows(rows: tuple[Capability, ...]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        yield row.what, row.here, row.state, f"`{row.test}`" if row.test else ""


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
