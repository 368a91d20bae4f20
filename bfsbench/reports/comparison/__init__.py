"""Compares two sets of measured search times, A and B. Each of these sets is called a *side*. A *point* is
one measured configuration: a graph, a source, a search, a grid, a block and knob values. Each point that has
times on both sides gets a verdict.

The verdict follows from all timed repeats of the point on both sides. Each repeat of B is divided by each
repeat of A, and the ratios are sorted. An equal number of ratios is cut off at either end. The remaining
interval contains the true ratio B / A with 95 % confidence (:mod:`bfsbench.reports.comparison.evidence`).
With a threshold of 5 % the verdict is

- slower, if the whole interval is above 1.05;
- faster, if the whole interval is below 1 / 1.05;
- same, if the whole interval is between 1 / 1.05 and 1.05;
- undecided otherwise, because the repeats spread too far or are too few.

If the hashes show that both sides measured identical code, the verdict is "machine differs" instead of slower
or faster.

The verdicts "slower" and "faster" need further evidence, for two reasons. First, one process takes all
repeats of a row within a second, and times of another process on another day differ. This run-to-run noise is
estimated from the compared points. Second, some of many points differ by chance, so more points require
stronger evidence. At most 5 % of the points called slower or faster are expected to be called so by chance.
Points that lack this evidence are undecided. Their result says how many repeats and runs are likely to decide
them.

If a side has several rows of one point, from several runs, their repeats are combined. Such a side has less
noise.
"""

SLOWER, FASTER, SAME, UNDECIDED = "slower", "faster", "same", "undecided"
THRESHOLD = 0.05
"""The default of the threshold: a relative difference of two times up to which the times count as equal."""
