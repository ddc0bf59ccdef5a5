"""Networks on several elements: stages of a pipeline, and a mesh."""
