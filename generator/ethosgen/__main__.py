"""`python -m ethosgen` is `ethosgen`."""

from ethosgen.cli import main

main()
