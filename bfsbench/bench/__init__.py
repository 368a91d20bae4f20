"""Taking measurements: points, sweeps, the worker that executes them, and the rows they become."""
