"""Run any firmware on stock QEMU with the NPU model attached.

QEMU has no Ethos-U, and its machines read 0 where the NPU's registers are. QEMU's GDB stub has a
watchpoint on these registers: QEMU stops before each access, `access` decodes the instruction, the
model's registers answer it, and QEMU continues after it. The interrupt is pended in the NVIC.

So the firmware needs no change: neither another driver, nor other addresses, nor another linker
script. The memories that QEMU cannot share are copied to the model before a command stream, and
what it has changed is copied back.

    firmware.py   starts QEMU, and joins the parts until it ends
    packets.py    GDB's remote protocol: framing
    stub.py       ... as QEMU's stub speaks it: memory, registers
    debugger.py   ... as the user's GDB speaks it
    access.py     the access to the registers that an instruction makes
    memory.py     the memories as the model sees them
    heap.py       semihosting's places of heap and stack
    connections.py  serial lines, semihosting, and the end of the run
    npu.py        the model's registers, its interrupt and the log of inferences
"""
