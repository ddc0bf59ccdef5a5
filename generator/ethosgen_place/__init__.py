"""Large systems on paper: a mesh of elements, a task graph, and where its tasks are."""
