"""Parts of the suite: what `make test` leaves out, and what a change must run of it.

`make test` runs the quick tests and, with a compiler and QEMU, whatever is in no part, and of each
part the tests that it names: `--core`. `make test-all` runs everything and notes the commit in
.ci/tested. CI runs the parts whose sources have changed since that commit: `--changed`. Of parts
that are drawn, as the corpus is, `make test` runs an eighth and CI at least a quarter, which the
commit chooses. A change of what is below all parts runs an eighth of the files of each: tests of a
file share their costly fixtures. The more parts a change touches, the fewer files of each run.
"""

from dataclasses import dataclass

from tests.support.changes import PYPROJECT

HEAVY = {"slow", "compiler", "qemu", "browser", "environment", "acl"}
"""Markers; a test without them is quick, and runs always."""
TORCH, TOSA, KERAS = "environment-torch", "environment-tosa", "environment-keras"
ACL, BROWSER = "library-acl", "browser"


@dataclass(frozen=True)
class Part:
    """Heavy tests, and the sources whose change may break them: paths from the root, or starts.

    `core` are the files and tests, with or without parameters, that `make test` runs. Of a part
    that is drawn, a quarter of the tests runs if its own sources have not changed; of the others,
    an eighth of the files after a change below all parts. A part that `runs_whole` runs in full
    whenever they have, however wide the change is. `needs` are the targets of make that install
    what its tests need.
    """

    name: str
    tests: tuple[str, ...]
    sources: tuple[str, ...]
    core: tuple[str, ...] = ()
    is_drawn: bool = False
    runs_whole: bool = False
    needs: tuple[str, ...] = ()


_GENERATOR = "generator/ethosgen/"
_DSP = "tests/aot/libraries/dsp/test_int8.py"
_HELIUM = "tests/aot/libraries/helium/test_int8.py"
EVERYWHERE = (
    f"{_GENERATOR}values/",
    f"{_GENERATOR}host/",
    "tests/conftest.py",
    "tests/support/apart.py",
    "tests/support/fork_server.py",
    "tests/support/forks.py",
    "tests/support/modules.py",
    "tests/support/needs.py",
    "tests/support/object_cache.py",
    "tests/support/reruns.py",
)
"""Sources that all parts have below them: their change runs an eighth of each part."""
REQUIREMENTS = f"{PYPROJECT}: "
"""What comes before a requirement that has changed; it runs every part that is not drawn."""
EVERY_TIME = (
    *(f"{_GENERATOR}{room}" for room in "platforms samples toml".split()),
    *(
        f"{_GENERATOR}{name}.py"
        for name in "__init__ __main__ cli late_names plugins relax version".split()
    ),
    f"{_GENERATOR}py.typed",
    *(".ci", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"),
    *("README.md", "REUSE.toml", "tools", "zephyr_app", "Dockerfile", ".dockerignore"),
)
"""What `make test` covers: a change of it alone runs no part, unless one names it."""


def _of(*rooms: str) -> tuple[str, ...]:
    return tuple(_GENERATOR + room for room in rooms)


_STREAMS = "accelerator", "isa", "isa_u85", "memory_system"
_CALLS = "family", "firmware", "inspection", "invocation", "payload", "pmu_event", "stream"
"""How firmware calls the NPU: modules that change neither streams nor what the model computes."""
_WAYS = (
    *("docs/from_keras.md", "docs/from_onnx.md", "docs/from_project.md", "docs/from_pytorch.md"),
    "docs/over_the_air.md",
)
"""The pages whose commands the tests run."""

PARTS = (
    Part(
        "accelerators",
        (
            "tests/accelerators/",
            "tests/backend/wrapped/test_conv.py",
            "tests/backend/wrapped/test_overhead.py",
            "tests/backend/wrapped/test_toy.py",
            "tests/commands/test_accelerators.py",
        ),
        (
            *("accelerators/", "templates/accelerator", "templates/device/", "tools/acl.sh"),
            *_of("aot/code/user_function.py", "backend/wrapped/", "device/"),
            "docs/accelerators.md",
        ),
        core=(
            "tests/backend/wrapped/test_conv.py::test_a_chain_is_one_exact_call",
            "tests/commands/test_accelerators.py::test_a_new_accelerator_passes_its_check",
        ),
        needs=(ACL,),
    ),
    Part(
        "kernels",
        (
            "tests/aot/libraries/",
            "tests/aot/test_exponents.py",
            "tests/aot/test_extremes.py",
            "tests/aot/test_layer_types.py",
            "tests/aot/test_on_target.py",
            "tests/aot/test_operator_breadth.py",
            "tests/aot/test_recurrent.py",
            "tests/aot/test_signals.py",
            "tests/aot/test_twins.py",
            "tests/bench/",
            "tests/cycles/",
            "tests/flow/test_firmware_graphs.py",
        ),
        (*_of("aot/", "cycles/"), "templates/kernels/", "bench/"),
        core=(
            f"{_DSP}::test_a_cortex_m4_equals_tflite_micro",
            f"{_DSP}::test_a_cortex_m33_and_m7_equal_tflite_micro[third 0-mps2-an500]",
            f"{_HELIUM}::test_helium_equals_tflite_micro[products]",
            f"{_HELIUM}::test_helium_equals_tflite_micro[turned]",
            "tests/aot/libraries/test_thumb.py::test_a_cortex_m0_and_m3_equal_tflite_micro[mps2-an385]",
            "tests/cycles/test_counting.py::test_known_code_is_counted",
        ),
    ),
    Part(
        "applications",
        ("tests/applications/", "tests/commands/test_serve.py", "tests/suites/test_mlperf.py"),
        (*_of("applications/", "targets/commands.py", "targets/terminal.py"), "templates/apps/"),
        core=(
            "tests/applications/test_image.py::test_every_frame_follows_from_the_oracles_outputs",
            "tests/applications/test_turns.py::test_each_round_has_both_networks_right_answers",
        ),
    ),
    Part(
        "boards",
        ("tests/board/", "tests/project/test_ci.py"),
        ("boards/", *_of("board/", "project/"), "templates/"),
        core=(
            "tests/board/test_board_projects.py::test_cores_without_floating_point",
            "tests/board/test_memory_modes.py::test_firmware_of_each_mode_is_exact",
        ),
    ),
    Part(
        "compilers",
        (
            "tests/project/test_build_systems.py",
            "tests/project/test_compilers.py",
            "tests/project/test_misra.py",
            "tests/project/test_plain_c.py",
            "tests/project/test_register_maps.py",
            "tests/toolchain/test_csolution.py",
        ),
        (*_of("aot/code/", "project/", "toolchain/"), "templates/"),
        core=("tests/project/test_build_systems.py::test_cmake_builds_it_each_way",),
    ),
    Part(
        "tosa",
        (
            "tests/frontend/tosa/",
            "tests/suites/test_tosa.py",
            "tests/backend/ethosu/offload/test_chains.py",
            "tests/backend/ethosu/offload/test_tosa.py",
            "tests/backend/ethosu/simulator/u85/test_branches.py",
            "tests/corpus/test_fields.py",
            "tests/host/test_environments.py",
        ),
        _of("backend/ethosu/offload/", "frontend/tosa/"),
        needs=(TORCH, TOSA),
    ),
    Part(
        "corpus",
        (
            "tests/corpus/",
            "tests/backend/ethosu/offload/test_errata.py",
            "tests/backend/ethosu/offload/test_errata_factors.py",
            "tests/backend/ethosu/offload/test_errata_rescaling.py",
            "tests/backend/ethosu/simulator/test_fuzz.py",
        ),
        (
            *_of("backend/ethosu/simulator/", "backend/ethosu/offload/"),
            *_of(*(f"backend/ethosu/{name}.py" for name in _STREAMS)),
            *("tests/errata/", f"{PYPROJECT}: ethos-u-vela"),
        ),
        is_drawn=True,
        runs_whole=True,
    ),
    Part(
        "onnx",
        (
            "tests/frontend/onnx/",
            "tests/frontend/relax/",
            "tests/relax/",
            "tests/suites/test_onnx_nodes.py",
        ),
        (*_of("aot/", "frontend/onnx/", "frontend/relax/"), "generator/ethosgen_relax/"),
        core=(
            "tests/relax/test_partition.py::test_it_computes_within_a_step_of_the_module_before",
        ),
    ),
    Part(
        "torch",
        (
            *("tests/executorch/", "tests/frontend/pte/", "tests/frontend/torch/"),
            "tests/frontend/test_digits.py",
        ),
        (
            *_of("executorch/", "frontend/pte/", "frontend/torch/", "quantization/"),
            "generator/ethosgen_relax/importing.py",
        ),
        needs=(TORCH,),
    ),
    Part(
        "origins",
        ("tests/project/test_origins.py",),
        _of("frontend/", "project/materials.py"),
        needs=(TORCH, TOSA),
    ),
    Part(
        "tutorials",
        ("tests/test_tutorials.py",),
        (*_of("quantization/"), *_WAYS),
        core=("tests/test_tutorials.py::test_the_way_into_a_project",),
        needs=(TORCH, KERAS),
    ),
    Part(
        "keras",
        ("tests/quantization/test_keras.py",),
        (*_of("quantization/keras.py", "quantization/tflite.py"), f"{PYPROJECT}: tensorflow"),
        needs=(KERAS,),
    ),
    Part(
        "quantization",
        ("tests/quantization/", "tests/commands/test_quantize.py"),
        _of("frontend/", "quantization/"),
        needs=(TORCH,),
    ),
    Part(
        "hosts",
        ("tests/host/",),
        (*_of("host/", "targets/"), "generator/ethosgen_sweep/"),
        core=("tests/host/test_termination.py::test_verify_leaves_no_temporary_folder[15]",),
    ),
    Part(
        "fvps",
        (
            "tests/fvp/test_on_qemu.py",
            "tests/suites/test_executorch.py",
            "tests/suites/test_fvp_programs.py",
        ),
        (*_of("backend/", "board/", "targets/"), "generator/ethosgen_fvp/"),
        core=("tests/fvp/test_on_qemu.py::test_a_firmware_ends_by_semihosting",),
    ),
    Part(
        "meshes",
        ("tests/place/", "tests/splitting/"),
        (*_of("splitting/", "stages/"), "generator/ethosgen_place/"),
        needs=(BROWSER,),
    ),
    Part(
        "studies",
        ("tests/studies/", "tests/sweep/", "tests/flow/test_profiling.py"),
        (*_of("aot/", "metrics.py", "studies/"), "generator/ethosgen_sweep/"),
        core=(
            "tests/flow/test_profiling.py::test_the_steps_are_the_whole",
            "tests/studies/test_accuracy.py::test_qemu_agrees_sample_by_sample",
        ),
    ),
    Part(
        "systems",
        ("tests/stages/",),
        (*_of("stages/", "systems/", "targets/"), "templates/element/"),
        core=(
            "tests/stages/test_graphs.py::test_a_short_pipeline_of_the_command_line_is_a_graph",
            "tests/stages/test_pipelines.py::test_three_elements_equal_the_oracle",
        ),
    ),
    Part(
        "targets",
        (
            "tests/driver/",
            "tests/targets/attach/",
            "tests/targets/test_bells.py",
            "tests/targets/test_buffers.py",
            "tests/targets/test_cache_on_qemu.py",
            "tests/targets/test_cores.py",
            "tests/targets/test_counts.py",
            "tests/targets/test_devices.py",
            "tests/targets/test_failed_runs.py",
            "tests/targets/test_flipped_bits.py",
            "tests/targets/test_faults.py",
            "tests/targets/test_security.py",
            "tests/targets/test_self_test_on_qemu.py",
            "tests/targets/test_stack.py",
            "tests/targets/test_weights_on_qemu.py",
        ),
        (
            *_of("aot/code/", "board/", "device/", "targets/", "toolchain/"),
            *_of(*(f"backend/ethosu/{name}.py" for name in _CALLS)),
            *("boards/", "templates/"),
        ),
        is_drawn=True,
    ),
    Part(
        "plug-ins",
        ("tests/plugins/test_toy.py",),
        (
            *("tests/plugins/toy/", f"{_GENERATOR}plugins.py"),
            *_of("applications/", "board/", "commands/", "frontend/", "platforms/", "report/"),
        ),
        is_drawn=True,
    ),
    Part(
        "distribution",
        ("tests/test_distribution.py",),
        (*_of("project/"), "demo/", PYPROJECT),
        core=("tests/test_distribution.py::test_the_wheel_has_all_that_commands_read",),
    ),
    Part(
        "pages",
        (
            "tests/commands/test_diff_page.py",
            "tests/commands/test_report_page.py",
            "tests/plots/test_costs.py",
            "tests/report/test_interaction.py",
            "tests/report/test_page.py",
            "tests/test_notebooks.py",
            "tests/test_site.py",
        ),
        (
            *_of("api/", "commands/", "plots/", "report/"),
            "docs/",
            "evidence/",
            "mkdocs.yml",
            "templates/report/",
            "tools/",
        ),
        needs=(BROWSER,),
    ),
    Part(
        "operators",
        ("tests/aot/",),
        (*_of("aot/", "frontend/tflite/", "oracle/"), "templates/common/"),
        core=(
            "tests/aot/test_compiler.py::test_the_c_compiles_for_the_board_without_a_warning",
            "tests/aot/test_control.py::test_layers_around_it_run_on_the_npu",
            "tests/aot/test_mixed.py::test_mixed",
            "tests/aot/test_operators.py::test_c_equals_tflite_micro",
            "tests/aot/test_streams.py::test_an_inference_ends_where_a_circular_buffer_waits",
            "tests/aot/test_structs.py::test_the_compiler_sees_the_bytes_of_every_struct",
        ),
    ),
    Part(
        "accelerated",
        ("tests/backend/",),
        (*_of("backend/", "frontend/tflite/", "oracle/"), "templates/ethosu/"),
        core=(
            "tests/backend/ethosu/offload/test_io_styles.py::test_both_styles_are_exact",
            "tests/backend/ethosu/offload/test_refusal.py::test_what_is_refused_stays_and_the_rest_compiles",
            "tests/backend/ethosu/simulator/test_npu_models.py::test_a_public_network_is_exact[kws_dscnn_int8]",
            "tests/backend/ethosu/simulator/test_npu_networks.py::test_a_network_is_exact",
            "tests/backend/test_backend.py",
        ),
    ),
    Part(
        "flow",
        (
            *("tests/api/", "tests/commands/", "tests/flow/", "tests/optimizer/"),
            *("tests/pytest_plugin/", "tests/verdict/"),
        ),
        (
            "generator/ethosgen_pytest/",
            *_of(
                "api/",
                "commands/",
                "flow/",
                "optimizer/",
                "oracle/",
                "platforms/",
                "samples/",
                "verdict/",
                "workspace/",
            ),
        ),
        core=(
            "tests/api/test_runs.py::test_verify_runs_one_network_or_several",
            "tests/commands/test_cli.py",
            "tests/flow/test_flow.py::test_a_project_in_three_commands",
            "tests/flow/test_flow.py::test_firmware_equals_tflm",
            "tests/flow/test_flow.py::test_simulate_equals_tflm_on_every_npu",
            "tests/flow/test_several_networks.py::test_one_of_two_is_generated_again",
            "tests/verdict/test_bisection.py",
            "tests/verdict/test_cpu_only.py::test_a_project_does_not_win_or_lose_its_npu",
        ),
    ),
    Part(
        "builds",
        ("tests/project/", "tests/proof/", "tests/toolchain/"),
        (
            *_of("board/", "platforms/", "project/", "proof/", "toolchain/"),
            *("boards/", "templates/"),
        ),
        core=(
            "tests/project/test_library.py::test_every_board_yields_a_library_that_compiles",
            "tests/project/test_linking.py::test_two_libraries_in_one_build_share_the_driver",
            "tests/project/test_snippets.py",
            "tests/project/test_trustzone.py",
            "tests/project/test_weights.py",
            "tests/proof/test_stack.py::test_a_stack_without_a_bound_is_refused",
            "tests/proof/test_stack.py::test_each_frame_of_a_firmware_is_gccs[mps2-an386]",
            "tests/proof/test_stack.py::test_a_run_uses_the_bound_and_not_much_less[mps2-an386]",
            "tests/toolchain/test_freshness.py::test_a_changed_source_is_neither_run_nor_flashed",
            "tests/toolchain/test_toolchain.py::test_a_missing_function_is_named",
            "tests/toolchain/test_toolchain.py::test_a_memory_too_small_for_the_code",
            "tests/toolchain/test_toolchain.py::test_it_builds_without_a_warning_and_within_its_limits[qemu-IoStyle.CALLER-ethos-u55-128]",
        ),
    ),
)


def part_of(path: str) -> Part | None:
    """Return the part that has a file of tests, None if `make test` runs all of it."""
    return next((part for part in PARTS if path.startswith(part.tests)), None)
