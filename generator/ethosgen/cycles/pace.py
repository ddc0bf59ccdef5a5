"""The substitute for the count of cycles where llvm-mca is missing: a core's cycles per
instruction.

Estimates of operators are in instructions. PACE turns them into cycles: the cycles of MLPerf Tiny's
four networks by the core's model, for each instruction of their estimates, both measured by
`python -m bench.cpu_time` (evidence/cpu_time.md has the figures).
"""

PACE = {
    "cortex-m0": 2.35,
    "cortex-m0plus": 2.35,
    "cortex-m3": 1.29,
    "cortex-m4": 1.1,
    "cortex-m33": 1.1,
    "cortex-m7": 0.84,
    "cortex-m52": 1.05,
    "cortex-m55": 1.05,
    "cortex-m85": 1.46,
}
"""By core; an M0's is the M0+'s, an M52's the M55's."""
SOURCE = "stored costs"
"""The source of such cycles, for people."""
