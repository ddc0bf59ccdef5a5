"""Programs with the names and command lines of Arm's FVPs, which run firmware on QEMU.

command.py       `ethosgen fvp install`
program.py       what these programs run
command_line.py  their options
parameters.py    their parameters (-C): which do something, which are taken silently
platforms.py     the FVPs: boards, NPUs, names of components
uarts.py         serial lines: files, sockets, what ends the run
simulation.py    joins these with the NPU model on QEMU
"""
