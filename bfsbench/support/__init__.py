"""Provide what every other package builds on: errors, files, the machine, compilers and compiled helpers."""
