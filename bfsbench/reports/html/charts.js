/* Draws level profiles: one panel per quantity, one above another. The horizontal axis has the levels. */

const CHART = { left: 70, right: 14, top: 24, gap: 34, panel: 150, below: 40 };

function profileChart(profiles) {
  const { shown: searches, width } = profiles;
  const known = QUANTITIES.filter(({ key }) => searches.some(({ profile }) => profile[key].some((value) => value > 0)));
  const bottom = CHART.top + known.length * (CHART.panel + CHART.gap) - CHART.gap;
  const chart = drawing("svg", { class: "profile", width, height: bottom + CHART.below, tabindex: "0", role: "img" });
  chart.setAttribute("aria-label", `${known.map(({ label }) => label).join(", ")} by level of ${searches.map(({ profile }) => profile.search).join(", ")}`);
  const last = Math.max(1, ...searches.map(({ profile }) => profile.level.at(-1)));
  const across = (level) => CHART.left + (level / last) * (width - CHART.left - CHART.right);
  known.forEach((quantity, place) => {
    const top = CHART.top + place * (CHART.panel + CHART.gap);
    profilePanel(profiles, chart, quantity, top, across);
  });
  const step = Math.max(1, niceStep(last / Math.max(2, width / 110)));
  for (let level = 0; level <= last; level += step) {
    chart.append(drawing("text", { x: across(level), y: bottom + 18, "text-anchor": "middle" }, shown(level)));
  }
  chart.append(drawing("text", { x: (CHART.left + width) / 2, y: bottom + 34, "text-anchor": "middle" }, "level"));
  follow(profiles, chart, across, last, bottom);
  return chart;
}

/* Returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
}

function profilePanel(profiles, chart, { key, label }, top, across) {
  const values = profiles.shown.flatMap(({ profile }) => profile[key].filter((value) => value > 0));
  const low = 10 ** Math.floor(Math.log10(values.reduce((a, b) => Math.min(a, b))));
  const high = Math.max(10 * low, 10 ** Math.ceil(Math.log10(values.reduce((a, b) => Math.max(a, b)))));
  const down = (value) => top + CHART.panel * (1 - Math.log(value / low) / Math.log(high / low));
  const right = profiles.width - CHART.right;
  const every = 10 ** Math.ceil(Math.log10(high / low) / 5);
  for (let tick = low; tick <= high * 1.001; tick *= every) {
    chart.append(drawing("line", { class: "grid", x1: CHART.left, x2: right, y1: down(tick), y2: down(tick) }));
    chart.append(drawing("text", { x: CHART.left - 6, y: down(tick) + 4, "text-anchor": "end" }, compact(tick)));
  }
  chart.append(drawing("text", { x: CHART.left, y: top - 8, class: "quantity" }, label));
  for (const { profile, colour } of profiles.shown) {
    const places = profile.level.map((_, place) => place).filter((place) => profile[key][place] > 0);
    const point = (place) => [across(profile.level[place]).toFixed(1), down(profile[key][place]).toFixed(1)];
    chart.append(drawing("polyline", { class: "path", points: places.map(point).join(" "), stroke: colour }));
    if (profile.level.length > MARKED_UP_TO) continue;
    for (const kernel of distinct(profile.kernel)) {
      const shape = profiles.shapes.indexOf(kernel);
      const draw = SHAPES[Math.max(0, shape) % SHAPES.length];
      const marks = places.filter((place) => profile.kernel[place] === kernel).map((place) => draw(...point(place).map(Number), shape < 0 ? 2.2 : 4));
      chart.append(drawing("path", { d: marks.join(""), fill: colour }));
    }
  }
}

/* Returns a power of ten as a text that is short enough to stand beside an axis. */
function compact(value) {
  return value >= 1e6 ? `${shown(value / 1e6)} M` : shown(Number(value.toPrecision(3)));
}

/* Adds a vertical line at the level nearest to the pointer, which arrow keys move, too. Calls `profiles.tell`
   with the level, which shows the level's values. */
function follow(profiles, chart, across, last, bottom) {
  const cursor = drawing("line", { class: "cursor", y1: CHART.top, y2: bottom, visibility: "hidden" });
  chart.append(cursor);
  let level = -1;
  const show = (next) => {
    level = Math.min(last, Math.max(0, next));
    for (const [key, value] of Object.entries({ x1: across(level), x2: across(level), visibility: "visible" })) cursor.setAttribute(key, value);
    profiles.tell(level);
  };
  const point = (event) => {
    const x = event.clientX - chart.getBoundingClientRect().left;
    show(Math.round(((x - CHART.left) / (profiles.width - CHART.left - CHART.right)) * last));
  };
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(level + steps[event.key]);
  });
}
