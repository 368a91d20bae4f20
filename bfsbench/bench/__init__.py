"""Measure searches: plan the configurations of a sweep, run them in a worker process, and make a result row
for each configuration."""
