"""The command line: only it and `commands` print.

Results go to stdout; progress, the next command to type and errors go to stderr.
"""

import json
import logging
import sys

import click

from ethosgen import plugins
from ethosgen.commands.accelerators import accelerators
from ethosgen.commands.accuracy import accuracy
from ethosgen.commands.attach import attach
from ethosgen.commands.boards import boards
from ethosgen.commands.bug import record_bug
from ethosgen.commands.build import build
from ethosgen.commands.check import check
from ethosgen.commands.choices import HELP, Group
from ethosgen.commands.compare import compare
from ethosgen.commands.demo import demo
from ethosgen.commands.diff import diff
from ethosgen.commands.disasm import disasm
from ethosgen.commands.doctor import doctor
from ethosgen.commands.explain import explain
from ethosgen.commands.flash import flash
from ethosgen.commands.identify import identify
from ethosgen.commands.init import init
from ethosgen.commands.man import man
from ethosgen.commands.ops import ops
from ethosgen.commands.pipeline import pipeline
from ethosgen.commands.project import project
from ethosgen.commands.quantize import quantize
from ethosgen.commands.report import report
from ethosgen.commands.run import run
from ethosgen.commands.serve import serve
from ethosgen.commands.serve_npu import serve_npu
from ethosgen.commands.simulate import simulate
from ethosgen.commands.stack import stack
from ethosgen.commands.verify import verify
from ethosgen.commands.watch import watch
from ethosgen.commands.weights import weights
from ethosgen.commands.workspace import defaults_for, missing_text
from ethosgen.host.file_errors import explain_storage
from ethosgen.host.termination import Terminated, end_in_order
from ethosgen.values.errors import BUG_CODE, BUG_STATUS, EthosgenError, InputError
from ethosgen.version import __version__


@click.group(
    cls=Group,
    door=plugins.COMMANDS,
    defaults=defaults_for,
    context_settings={"help_option_names": HELP},
)
@click.version_option(__version__, prog_name="ethosgen")
@click.option("-v", "--verbose", is_flag=True, help="Log what the stages do, to stderr.")
def cli(verbose: bool) -> None:
    """Turn a quantized network into firmware for a Cortex-M with an Ethos-U NPU, and prove it.

    \b
    ethosgen verify MODEL.tflite --board corstone300     does my network work on this board?
    ethosgen project MODEL.tflite --board corstone300    generate the firmware's sources
    ethosgen simulate MODEL.tflite                       only the NPU model: no compiler, no QEMU
    ethosgen quantize FLOAT.onnx --data SAMPLES.npz -o MODEL.onnx    make a float network int8
    ethosgen doctor                                      is everything installed?
    """
    level = logging.DEBUG if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(name)s: %(message)s", stream=sys.stderr)


cli.add_section("A folder of yours", init, check, watch, diff)
cli.add_section(
    "Firmware", verify, project, build, run, serve, flash, attach, "fvp", weights, identify, stack
)
cli.add_section("Networks", simulate, accuracy, compare, "sweep", report, quantize, disasm, ops)
cli.add_section("Several elements", pipeline, "place")
cli.add_section("Setup", demo, doctor, explain, man, boards, accelerators)
cli.add_command(serve_npu)


def main() -> None:
    """Run the command line; report an EthosgenError as one sentence and an exit status."""
    end_in_order()
    try:
        status = cli(standalone_mode=False)  # the value that a command passes to Context.exit()
        if isinstance(status, int):
            sys.exit(status)
    except EthosgenError as error:
        _fail(str(error), error.exit_status, error.code)
    except click.MissingParameter as error:
        _fail(missing_text(error), InputError.exit_status, InputError.code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except Terminated as signal:
        _fail(f"ended by {signal}", signal.exit_status)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:
        sentence = explain_storage(error)
        if sentence is not None:
            _fail(sentence, InputError.exit_status, InputError.code)
        _fail(record_bug(error), BUG_STATUS, BUG_CODE)
    finally:
        for sentence in plugins.faults():
            click.echo(f"ethosgen: {sentence}; ethosgen doctor lists all", err=True)


def _fail(sentence: str, status: int, code: str = "") -> None:
    """Print a sentence, and with --json also an object with its code; end with a status."""
    click.echo(f"ethosgen: {sentence}", err=True)
    if code and "--json" in sys.argv:
        error = {"code": code, "message": sentence, "exit_status": status}
        click.echo(json.dumps({"error": error}, indent=2))
    sys.exit(status)


if __name__ == "__main__":
    main()
