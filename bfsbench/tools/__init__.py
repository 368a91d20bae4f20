"""Implements the commands ``check``, ``explain``, ``lab``, ``probe`` and ``list``."""
