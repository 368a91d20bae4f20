"""Implements the commands besides sweeps: checks, costs by source line, exercises, ceilings and lists."""
