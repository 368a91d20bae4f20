/* The best time of each search on one graph, as bars. */

const OUTLYING = 4; // times the next shorter bar from which one is cut off

function longestShown(times) {
  const sorted = [...times].sort((a, b) => a - b);
  // More than half of the bars stay whole.
  while (2 * (sorted.length - 1) > times.length && sorted.at(-1) > OUTLYING * sorted.at(-2)) sorted.pop();
  return sorted.at(-1);
}

function drawBars(table) {
  const at = Object.fromEntries(table.columns.map((column, index) => [column.key, index]));
  const chart = element("div", { className: "bars", role: "list" });
  const draw = (graph) => {
    const rows = table.rows.filter((row) => row[at.graph] === graph);
    rows.sort((a, b) => a[at.search_ms] - b[at.search_ms]);
    const end = longestShown(rows.map((row) => row[at.search_ms]));
    chart.replaceChildren(...rows.flatMap((row, place) => {
      const time = row[at.search_ms];
      const cut = time > end;
      const bar = element("span", { className: "bar" });
      bar.classList.toggle("host", row[at.backend] === "host");
      bar.classList.toggle("best", place === 0);
      bar.classList.toggle("cut", cut);
      bar.style.width = `calc((100% - 5.5em) * ${Math.min(time, end) / end})`;
      const label = `${measured(time)} ms${cut ? " (cut off)" : ""}`;
      const shape = [row[at.grid] && `grid ${row[at.grid]}`, row[at.block] && `block ${row[at.block]}`, row[at.knobs]];
      const title = [row[at.device], ...shape].filter(Boolean).join(", ");
      return [
        element("span", { className: "name", title }, row[at.variant]),
        element("span", { className: "track", title, role: "listitem" }, bar, element("span", { className: "label" }, label)),
      ];
    }));
  };
  const graphs = chooser("graph", distinct(table.rows.map((row) => row[at.graph])), draw);
  section(
    `bars-${table.name}`,
    table.title.replace(/^[^(]+/, "Bars ").trim(), // and of what, in brackets
    element("p", { className: "note" }, "Best time of each search (ms); grey: programs on the CPU. Hover for its launch."),
    element("div", { className: "controls" }, graphs.node),
    chart,
  );
  draw(graphs.select.value);
}
