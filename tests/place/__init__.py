"""Large systems on paper: task graphs, placements, their simulation."""
