// reorder: vertices renumbered by out-degree (Springer, section 3.4).
//
// The host renumbers the graph, so that the threads of a warp are given vertices of like degree. The kernel is that
// of frontier_numbers, as in the paper, with new ids throughout: in row_offsets, column_indices and levels.
#include "frontier_numbers.cu"
