"""A plug-in of pytest: `def test_network(ethosgen_verify)`."""
