"""Measure points: plan a sweep, execute its points in a worker process, and make their rows."""
