"""Two sets of result rows compared, point by point: what got faster, what slower, and what nobody can tell.

The rule. A point has all its timed repeats on both sides. All ratios of a repeat of B to a repeat of A are
put in order, and as many are cut off at either end as leave an interval that holds the ratio of both sides'
times with 95 % confidence (:mod:`bfsbench.compare.interval`). With a threshold of 5 % the point is

- slower, when the whole interval is above 1.05,
- faster, when the whole interval is below 1 / 1.05,
- the same, when the whole interval is between those,
- undecided otherwise: the repeats spread too far, or are too few.

Being slow once is not enough for a verdict, and neither is a difference that is certain but small. Repeats of
a row were taken by one process within a second; that another process, on another day, sees other times is not
in their spread. The threshold has to cover that. Rows of one point within a side are put together, so that a
side measured several times has that spread in its repeats as well.
"""
