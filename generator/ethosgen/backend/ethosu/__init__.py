"""Arm's Ethos-U: its configurations, its compiler Vela, its simulator."""
