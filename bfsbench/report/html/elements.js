/* Building blocks: elements, numbers as people read them, lists to choose from. */

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/* Text as it is, whole numbers in full, thousands set apart in long ones. */
function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  return value.toLocaleString("en", { useGrouping: value >= 10000 });
}

/* A measured number with four significant digits. */
function measured(value) {
  if (value === null || value === undefined) return "";
  return value.toLocaleString("en", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 });
}

function distinct(values) {
  return [...new Set(values)];
}

/* A labelled list; `changed` is called with the choice. */
function chooser(label, names, changed) {
  const select = element("select", {}, ...names.map((name) => element("option", { value: name }, name)));
  select.addEventListener("change", () => changed(select.value));
  return { node: element("label", {}, label, select), select };
}

/* Replaces the names of a list and keeps the choice if it is still there. */
function offer(select, names) {
  const before = select.value;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(before)) select.value = before;
}

function section(id, title, ...children) {
  document.querySelector("nav").append(element("a", { href: `#${id}` }, title));
  const made = element("section", { id }, element("h2", {}, title), ...children);
  document.querySelector("main").append(made);
  return made;
}
