"""Measures ethosgen as a user would run it; writes evidence/bench.* and the README.

    .venv/bin/python -m bench                      # a few minutes; make bench
    .venv/bin/python -m bench --only times         # only this part; the page states when
    .venv/bin/python -m bench --render             # only write the tables again

The networks are those in ../shared/models (or in the directory ETHOSGEN_MODELS) and the demo's;
without that directory the tables are printed but not written, since they would have fewer rows than
the committed ones. Exit status 1 if a limit is missed.

`bench.footprint`, `bench.public`, `bench.shapes` and `bench.trials` are separate commands; their
docstrings say how to run them.
"""
