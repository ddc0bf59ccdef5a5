"""The code of the installed programs: it runs an FVP by its name, with its command line."""

import sys
from collections.abc import Sequence

import click

from ethosgen.host.termination import Terminated, end_in_order
from ethosgen.values.errors import EthosgenError
from ethosgen.version import __version__
from ethosgen_fvp.command_line import read_command_line, tell
from ethosgen_fvp.parameters import known_parameters
from ethosgen_fvp.platforms import FixedPlatform, find_platform

_INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    """Run an FVP by its name and its command line; return the exit status."""
    end_in_order()
    try:
        return _run(find_platform(words[0]), words[1:])
    except EthosgenError as error:
        tell(str(error))
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Terminated as signal:
        return signal.exit_status


def _run(platform: FixedPlatform, words: Sequence[str]) -> int:
    line = read_command_line(platform.name, words)
    if line.tells_version:
        click.echo(version_of(platform), nl=False)
    elif line.lists_parameters:
        click.echo("\n".join(_parameters(platform)))
    else:
        from ethosgen_fvp.simulation import simulate  # scripts ask for the version often

        return simulate(platform, line)
    return 0


def version_of(platform: FixedPlatform) -> str:
    """Return the answer to --version."""
    return (
        f"\nFast Models [{platform.fast_models}] command line\n"
        f"{platform.name} is ethosgen {__version__}: stock QEMU with ethosgen's NPU model.\n"
    )


def _parameters(platform: FixedPlatform) -> list[str]:
    """Return the parameters with an effect, as the FVPs list them."""
    lines = ["# Parameters that do something; others are named on stderr, and ignored."]
    for name, parameter in known_parameters(platform).items():
        lines.append(f"{name + '=' + parameter.default:<60} # {parameter.what}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
