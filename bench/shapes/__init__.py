"""The benchmark by operator: some 600 layers on QEMU, beside TensorFlow Lite Micro's kernels.

    .venv/bin/python -m bench.shapes                              # both cores, all types: an hour
    .venv/bin/python -m bench.shapes --core cortex-m55 --type int8 --only "depthwise kx1"
    .venv/bin/python -m bench.shapes --fresh                      # a third as many, newly drawn
    .venv/bin/python -m bench.shapes --render                     # only the page and the plot
    .venv/bin/python -m bench.shapes --networks FOLDER            # the layers, for other firmware
    .venv/bin/python -m bench.shapes --theirs FIGURES.json        # take over what that counted

It writes evidence/kernels.json, kernels.md and kernels.svg. What is not measured keeps its figures.
Exit status 1 if an output differs from TensorFlow Lite Micro's.
"""
