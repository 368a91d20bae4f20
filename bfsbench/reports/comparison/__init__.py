"""Two sets of result rows compared, point by point: faster, slower, the same, or undecided.

The rule. A point has all its timed repeats on both sides. All ratios of a repeat of B to a repeat of A are
sorted. Cutting off the same number at either end leaves an interval that contains the ratio of the two sides'
times with 95 % confidence (:mod:`bfsbench.reports.comparison.evidence`). With a threshold of 5 % the point is

- slower, when the whole interval is above 1.05,
- faster, when the whole interval is below 1 / 1.05,
- the same, when the whole interval is between those,
- undecided otherwise: the repeats spread too far, or are too few.

Where both sides measured the same code, by its hash, a point is neither slower nor faster: the machine
differs.

Slower and faster need more than that. Repeats of a row were taken by one process within a second; times of
another process, on another day, differ. This run-to-run noise is estimated from all points that are compared.
And of many points some differ by chance, so more points require stronger evidence: of those called slower or
faster, at most 5 % are expected to be so by chance (:mod:`bfsbench.reports.comparison.evidence`). Points that
lack such evidence are undecided, with the number of repeats and runs that are likely to decide them.

Rows of one point within a side are combined, so a side that was measured in several runs has less noise.
"""
