"""Large systems on paper: a mesh of elements, a task graph, and the places of its tasks."""
