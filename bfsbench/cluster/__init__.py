"""Spread a sweep over many GPUs and hosts with Dask distributed.

Dask starts and supervises one worker process per GPU, and transfers tasks and results. A task is a group of
points. A point is one configuration to measure. A worker runs a task with
:class:`bfsbench.bench.worker.Worker`, which a sweep on one GPU also uses. Only the process that began the
sweep writes files.

``address`` parses ``--cluster`` and chooses the runner of a sweep. ``launch`` starts Dask's processes, or
submits workers to a batch system. ``certificates`` makes and reads the certificates of a cluster. ``tasks``
has the functions that run on a worker. ``runner`` keeps the list of workers, gives points to them, and makes
a cluster the runner of a sweep.
"""
