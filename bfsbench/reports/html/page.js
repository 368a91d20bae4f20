/* Puts the page together from its data: the matrix, one graph at a time, tables. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const TABLES = {};

/* Shows those of all points that have these values. */
function showPoints(values) {
  TABLES.points.only(values);
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === "dark"
    || (getComputedStyle(root).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.style.colorScheme = dark ? "light" : "dark";
}

document.getElementById("theme").addEventListener("click", toggleTheme);
if (DATA.warnings.length) {
  const count = DATA.warnings.length;
  document.querySelector("header").append(element("details", { open: !NARROW_PAGE.matches, className: "warnings" },
    element("summary", { className: "warning" }, `${count} ${count === 1 ? "warning" : "warnings"} about these rows`),
    ...DATA.warnings.map((text) => element("p", { className: "warning" }, `Warning: ${text}.`))));
}
for (const kind of DATA.kinds) {
  // Times of emulated kernels say nothing of how fast a search is.
  if (!kind.emulated && kind.graphs.some((graph) => graph.compared)) new Matrix(kind, (title) => graph.choose(title));
}
const graph = new OneGraph(DATA);
for (const table of DATA.tables) TABLES[table.name] = new SortedTable(table);
