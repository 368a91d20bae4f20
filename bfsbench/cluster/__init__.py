"""A sweep over many GPUs and hosts, on Dask distributed.

Dask starts and watches one worker process a GPU and carries tasks to them and their results back. A task is
one point, and a worker runs it as a sweep on one GPU does: through :class:`bfsbench.bench.worker.Worker`,
which has the process that touches the device. Only the process that began the sweep writes files.

``address`` reads ``--cluster``; ``launch`` starts Dask's parts; ``tasks`` is what happens on a worker;
``members`` knows the workers; ``shares`` says which graph each has; ``runner`` hands out points.
"""
