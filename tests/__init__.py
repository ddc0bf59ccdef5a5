"""The tests, which mirror the modules of ethosgen, and what they share (`support`, `corpus`)."""
