"""The machine that ethosgen runs on: programs, child processes, signals, folders."""
