"""Devices that run the kernels of ``cuda_src``: a real GPU, or this machine's CPU in its place."""
