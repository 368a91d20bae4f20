"""Litmus tests of the ways in which ``adaptive`` hands data from one thread to another."""
