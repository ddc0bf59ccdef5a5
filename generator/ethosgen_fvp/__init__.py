"""Programs with the names and command lines of Arm's FVPs, which run firmware on QEMU.

command.py       `ethosgen fvp install`
program.py       the code of these programs
command_line.py  their options
parameters.py    their parameters (-C): those with an effect, those accepted silently
platforms.py     the FVPs: boards, NPUs, names of components
uarts.py         serial lines: files, sockets, the end of the run
simulation.py    joins these with the NPU model on QEMU
"""
