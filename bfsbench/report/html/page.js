/* Puts the page together from its data. */

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
document.querySelector("header").append(
  ...DATA.warnings.map((text) => element("p", { className: "warning" }, `Warning: ${text}.`)),
);
for (const table of DATA.tables) {
  if (table.name.startsWith("best") && table.rows.length) drawBars(table);
  TABLES[table.name] = new SortedTable(table);
  if (table.name === "best") {
    if (DATA.maps.length) drawHeatMaps(DATA.maps);
    if (DATA.profiles.length) drawProfiles(DATA.profiles);
  }
}
