"""Compares two sets of result rows, A and B, point by point. Each point gets a verdict.

The verdict follows from all timed repeats of the point on both sides. All ratios of a repeat of B to a repeat
of A are sorted. An equal number of ratios is cut off at either end. The rest is an interval that contains the
ratio of the two sides' times with 95 % confidence (:mod:`bfsbench.reports.comparison.evidence`). With a
threshold of 5 % the verdict is

- slower, if the whole interval is above 1.05;
- faster, if the whole interval is below 1 / 1.05;
- same, if the whole interval is between 1 / 1.05 and 1.05;
- undecided otherwise, because the repeats spread too far or are too few.

If both sides measured identical code, by its hash, a point is never slower or faster. The verdict is then
that the machine differs.

Slower and faster need further evidence, for two reasons. First, one process takes all repeats of a row within
a second, and times of another process on another day differ. This run-to-run noise is estimated from all
compared points. Second, some of many points differ by chance, so more points require stronger evidence. At
most 5 % of the points called slower or faster are expected to be called so by chance. Points that lack this
evidence are undecided. Their result says how many repeats and runs are likely to decide them.

Rows of one point within a side are combined, so a side that was measured in several runs has less noise.
"""

SLOWER, FASTER, SAME, UNDECIDED = "slower", "faster", "same", "undecided"
