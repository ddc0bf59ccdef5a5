"""Random networks of the whole dialect, run through every step of `project` and compared.

    .venv/bin/python -m tests.corpus.wild run --count 300       # new networks; prints the seed
    .venv/bin/python -m tests.corpus.wild run --count 300 --start 5000
    .venv/bin/python -m tests.corpus.wild one 5017              # one network, its verdict
    .venv/bin/python -m tests.corpus.wild firmware --count 300  # a sample of the log, on QEMU
    .venv/bin/python -m tests.corpus.wild table                 # evidence/random.md from the log

A seed identifies a network. `fragments` draws pieces of one or a few operators, `graph` joins them
to a network, `trial` plans, renders and runs it on the NPU model, `golden` asks the oracles, and
`batch` does this for many networks, in processes that can die or hang without harm.
"""
