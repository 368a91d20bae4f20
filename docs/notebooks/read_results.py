# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---

# %% [markdown]
# # Read our H200 rows
#
# All rows that we measured are in `results/h200` as CSV. This notebook reads `every.csv`: every search at its defaults, by its
# rules and at its tuned setting, on an H200. It needs `pip install -e .` in a copy of the repository.

# %%
from pathlib import Path

import bfsbench

repository = Path(bfsbench.__file__).parents[1]
rows = bfsbench.read_results(repository / "results" / "h200" / "every.csv")
print(rows[["graph", "variant", "status", "search_ms", "gpu"]].sample(5, random_state=1))

# %% [markdown]
# The best time of each search on each graph in ms. A time is the fastest sample, and the median over the sources.

# %%
setting = ["graph", "variant", "backend", "grid", "block", "knobs"]
ok = rows[rows.status == "ok"]
ms = ok.groupby(setting, dropna=False).search_ms.median().groupby(["graph", "variant"]).min().unstack("graph")
ms = ms.rename(columns=lambda name: name.split(":")[0])
print(ms.round(3).T.head())

# %% [markdown]
# How much slower each search is than the fastest one of its graph, and its geometric mean over all graphs.

# %%
slowdown = ms / ms.min()
mean = slowdown.dropna().prod(axis=1) ** (1 / slowdown.shape[1])
print(mean.sort_values().round(2))

# %% [markdown]
# The tables of `bfsbench report` are there as well.

# %%
from bfsbench.reports import select, tables

(best,) = tables(select(rows, variants=["adaptive", "luo", "push"]), ["best"])
print(best.frame().head())

# %%
assert len(best.frame()) and slowdown.min().eq(1).all()
