/* The section for one graph, which the reader chooses: its bars, heat maps and level profiles. */

class OneGraph {
  constructor(data) {
    this.data = data;
    const titles = distinct(data.kinds.flatMap((kind) => kind.graphs.map((graph) => graph.title)));
    this.graphs = chooser("graph", titles, (title) => this.draw(title));
    this.bars = element("div");
    this.maps = new HeatMaps();
    this.profiles = new Profiles();
    this.node = section("graph", "One graph", element("div", { className: "controls" }, this.graphs.node), this.bars, this.maps.node, this.profiles.node);
    this.draw(titles[0]);
  }

  draw(title) {
    this.bars.replaceChildren(...this.data.kinds.map((kind) => barsOf(kind, title)).filter(Boolean));
    this.maps.show(this.data.maps.filter((map) => map.graph === title));
    this.profiles.show(this.data.profiles.filter((profile) => profile.graph === title));
  }

  choose(title) {
    this.graphs.select.value = title;
    this.draw(title);
    this.node.scrollIntoView();
    this.graphs.select.focus({ preventScroll: true });
  }
}
