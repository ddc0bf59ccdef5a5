"""The verdict: golden outputs, comparison, the check of a plan, bisection, cases, fidelity."""
