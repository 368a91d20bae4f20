# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---

# %% [markdown]
# # Compare searches on your graph
#
# Put the name of your graph, or the path of its file, in the next cell. Without a GPU the kernels run in the emulator: then
# take a small graph, and do not read anything into its times.

# %%
import bfsbench

graph = bfsbench.load("lattice(rows=30,columns=30)")
print(graph)

# %% [markdown]
# One search, checked against the sequential one. `levels` has the level of each vertex, -1 where it is not reached.

# %%
result = bfsbench.search(graph, "push", source=0, parents=True)
print(result.backend, result.levels.max(), bfsbench.path(result.parents, target=35).tolist())

# %% [markdown]
# Several searches in one sweep. `sweep` does what `bfsbench run` does, and returns the rows as a DataFrame.

# %%
rows = bfsbench.sweep(
    graph, ["push", "pull", "frontier_queue", "cpu_queue"], block=[64, 256], sources=2, repeats=2
)
print(rows.status.value_counts())

# %% [markdown]
# The best time of each search in ms, with the backend it ran on. Emulated kernels (`cpu`) and programs of the host do not
# compare.

# %%
best = rows.groupby(["backend", "variant"]).search_ms.min().unstack("backend")
print(best)

# %%
assert set(rows.status) == {"ok"}
