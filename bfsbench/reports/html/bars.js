/* Draws the best time of each search on one graph, as bars. */

const LINEAR_UP_TO = 20; // largest ratio of the longest to the shortest time for which bars begin at 0
const SHORTEST = 1.6; // on a logarithmic scale, the bar of the best search is as long as for this ratio

/* Returns the bars of a kind's searches on the graph, or null if none of them has a time. */
function barsOf(kind, title) {
  if (kind.emulated) return null; // the table of best times has their counts
  const place = kind.graphs.findIndex((graph) => graph.title === title);
  const found = kind.searches
    .map((search) => ({ search, cell: search.cells[place] }))
    .filter(({ cell }) => isTimed(cell))
    .sort((a, b) => a.cell.ms - b.cell.ms);
  if (!found.length) return null;
  const [least, most] = [found[0].cell.ms, found.at(-1).cell.ms];
  const far = least > 0 && most / least > LINEAR_UP_TO;
  const length = (time) => (far ? Math.log((SHORTEST * time) / least) / Math.log((SHORTEST * most) / least) : time / (most || 1));
  const called = (text) => kind.searches.filter((search) => search.cells[place] === text).map((search) => search.name);
  const [failed, others] = [called("failed"), called("other sources")];
  return element("div", {},
    element("h3", {}, `Best time of each search${kind.heading ? `, ${kind.heading}` : ""}`),
    element("p", { className: "note" }, `${kind.graphs[place].searched}: ${kind.statistic}, of equally many repeats; median: ${kind.typical}; ${far ? "bars on a logarithmic scale" : "bars from 0"}`
      + `${found.some(({ search }) => search.host) ? "; grey: programs on the CPU" : ""}`
      + `${failed.length ? `. No time: ${failed.join(", ")}` : ""}${others.length ? `. From other sources: ${others.join(", ")}` : ""}.`),
    element("div", { className: "bars" }, ...found.flatMap((one) => bar(one, length(one.cell.ms), one.cell.ms / least))));
}

/* Returns whether a cell holds a time. Otherwise it holds the reason why there is none, or null. */
function isTimed(cell) {
  return cell !== null && typeof cell === "object";
}

function bar({ search, cell }, share, ratio) {
  const launch = [cell.device, launchOf(cell)].filter(Boolean).join(", ");
  const line = element("span", { className: "bar" });
  line.classList.toggle("host", search.host);
  line.classList.toggle("best", ratio === 1);
  line.style.setProperty("--share", share.toFixed(4));
  const compared = Number.isFinite(ratio) && ratio !== 1 ? ` (${times(ratio)} times)` : "";
  const points = element("button", { type: "button", title: "Shows the points behind this time" }, "points");
  const { graph, variant, backend, grid, block, knobs } = cell;
  points.addEventListener("click", () => showPoints({ graph, variant, backend, grid, block, knobs }));
  return [
    element("span", { className: "name", title: launch }, breakable(search.name)),
    element("span", { className: "track", title: launch }, line, element("span", { className: "label" }, `${measured(cell.ms)} ms${compared}, median ${measured(cell.median)}`)),
    points,
  ];
}
