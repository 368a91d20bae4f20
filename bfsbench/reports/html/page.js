/* Builds the page from its data: the matrix, the section for one graph, and the tables. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const TABLES = {};

/* Shows the rows with these values in the table of all points. */
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
  // Times of emulated kernels do not show how fast a search is.
  if (!kind.emulated && kind.graphs.some((graph) => graph.compared)) new Matrix(kind, (title) => graph.choose(title));
}
const graph = new OneGraph(DATA);
for (const table of DATA.tables) TABLES[table.name] = new SortedTable(table);
