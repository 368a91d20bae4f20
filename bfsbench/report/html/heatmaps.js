/* Time over grid and block: choose a graph and a search, hover or focus a cell for its details. */

const DARKEST = 8; // times the best at which the colour ends
const DEEP = 0.42; // share of the dark colour from which numbers are white

function drawHeatMaps(maps) {
  const holder = element("div", { className: "scroll" });
  const facts = element("p", { className: "facts", role: "status" });
  const points = element("button", { type: "button" }, "points");
  const find = () => maps.find((map) => map.graph === graphs.select.value && map.series === searches.select.value);
  const draw = () => {
    const of = maps.filter((map) => map.graph === graphs.select.value);
    offer(searches.select, of.map((map) => map.series));
    const map = find();
    facts.textContent = `${map.searched}. Hover or tap a cell for its details.`;
    points.hidden = true;
    holder.replaceChildren(mapTable(map, (grid, block, words) => {
      facts.textContent = words;
      points.hidden = false;
      points.onclick = () => showPoints({ graph: map.name, variant: map.variant, grid, block });
    }));
  };
  const graphs = chooser("graph", distinct(maps.map((map) => map.graph)), draw);
  const searches = chooser("search", distinct(maps.map((map) => map.series)), draw);
  section(
    "heatmaps",
    "Grid x block",
    element("p", { className: "note" }, "Search time (ms) by grid (blocks, down) and block (threads, across), each with its best knobs."),
    element("div", { className: "controls" }, graphs.node, searches.node),
    holder,
    element("div", { className: "key" }, "best", element("span", { className: "ramp" }), `${DARKEST} times the best and more`),
    facts,
    points,
  );
  const largest = maps.reduce((a, b) => (b.cells.flat().length > a.cells.flat().length ? b : a));
  graphs.select.value = largest.graph;
  searches.select.value = largest.series;
  draw();
}

/* `tell` gets the grid, block and description of a cell that is pointed at. */
function mapTable(map, tell) {
  const times = map.cells.flat().filter((cell) => cell && cell.ms).map((cell) => cell.ms);
  const best = Math.min(...times);
  const head = element("tr", {}, element("th", {}, "grid \\ block"), ...map.blocks.map((block) => element("th", { scope: "col" }, shown(block))));
  const lines = map.cells.map((line, place) => element("tr", {},
    element("th", { scope: "row" }, map.grids[place]),
    ...line.map((cell, column) => mapCell(map, cell, map.grids[place], map.blocks[column], best, tell))));
  return element("table", { className: "map" }, element("thead", {}, head), element("tbody", {}, ...lines));
}

function mapCell(map, cell, grid, block, best, tell) {
  if (cell === null) return element("td");
  const failed = cell === "failed";
  const node = element("td", { tabIndex: 0, className: failed ? "failed" : "time" }, failed ? "failed" : measured(cell.ms));
  let words = `grid ${grid}, block ${block}: no time, see Failures`;
  if (!failed) {
    const ratio = cell.ms / best;
    const share = Math.min(1, Math.log(ratio) / Math.log(DARKEST));
    node.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
    node.classList.toggle("deep", share > DEEP);
    node.classList.toggle("best", ratio === 1);
    const knobs = cell.knobs ? `, ${cell.knobs}` : "";
    words = `grid ${grid}, block ${block}${knobs}: ${measured(cell.ms)} ms, ${ratio.toFixed(2)} times the best of the map, `
      + `${cell.sources} ${cell.sources === 1 ? "source" : "sources"}`;
  }
  node.title = words;
  for (const event of ["pointerenter", "focus", "click"]) {
    node.addEventListener(event, () => tell(grid, block, words));
  }
  return node;
}
