"""Random networks of the whole dialect, through all that `project` does, against the oracles.

    .venv/bin/python -m corpus.wild run --count 300         # fresh ones; prints the seed
    .venv/bin/python -m corpus.wild run --count 300 --start 5000
    .venv/bin/python -m corpus.wild one 5017                # one network, its verdict
    .venv/bin/python -m corpus.wild firmware --count 300    # of those, on QEMU
    .venv/bin/python -m corpus.wild table                   # docs/random.md from build/wild.jsonl

A network is a seed. `fragments` draws pieces of one operator or a few, `graph` joins them to a
network, `trial` takes it through planning, rendering and the NPU model, `golden` asks the oracles,
and `batch` does so for many, each in a process that can die or hang without harm.
"""
