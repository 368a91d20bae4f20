"""A sweep over many GPUs and hosts, on Dask distributed.

Dask starts and supervises one worker process per GPU, and transfers tasks and results. A task is
one point, and a worker runs it as a sweep on one GPU does: through :class:`bfsbench.bench.worker.Worker`,
which has the process that touches the device. Only the process that began the sweep writes files.

``address`` reads ``--cluster``; ``launch`` starts Dask's parts; ``tasks`` has the functions that run on a
worker; ``members`` keeps the list of workers; ``shares`` assigns graphs to them; ``runner`` distributes the
points.
"""
