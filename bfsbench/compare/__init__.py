"""Two sets of result rows compared, point by point: what got faster, what slower, and what nobody can tell.

The rule. A point has all its timed repeats on both sides. All ratios of a repeat of B to a repeat of A are
put in order. Cutting off the same number at either end leaves an interval that holds the ratio of both sides'
times with 95 % confidence (:mod:`bfsbench.compare.interval`). With a threshold of 5 % the point is

- slower, when the whole interval is above 1.05,
- faster, when the whole interval is below 1 / 1.05,
- the same, when the whole interval is between those,
- undecided otherwise: the repeats spread too far, or are too few.

Slower and faster need more than that. Repeats of a row were taken by one process within a second; another
process, on another day, sees other times. That noise is estimated from all points that are compared. And of
many points some differ by chance, so the evidence has to be the stronger the more points there are: of those
that are called slower or faster, at most 5 % are expected to be so by chance
(:mod:`bfsbench.compare.correction`). Points that lack such evidence are undecided, with the number of repeats
and runs that are likely to tell.

Rows of one point within a side are put together, so a side that was measured in several runs has less noise.
"""
