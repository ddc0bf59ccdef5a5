"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const number = (value) => (value === null ? "not known" : value.toLocaleString("en-US"));
  const percent = (value) => (value === null ? "not known" : `${(100 * value).toFixed(1)}%`);
  const KINDS = { npu: "npu", cpu: "cpu", "": "gone" };
  const kind = (layer) => KINDS[layer.on] ?? "other";
  const place = (layer) => (layer.on === "" ? "nowhere" : layer.on.length === 3 ? layer.on.toUpperCase() : layer.on);
  const most = Math.max(...report.layers.map((layer) => layer.share ?? 0), 1e-9);

  /** Return the part of a tensor's name that tells it from others. */
  function short(name, longest) {
    const parts = name.split(";")[0].split("/");
    const text = parts.slice(-2).join("/");
    return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
  }

  function element(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  function cost(layer) {
    if (layer.merged_into !== null) return `computed with ${layer.merged_into}`;
    if (layer.share === null) return "";
    const parts = [];
    if (layer.cycles !== null) parts.push(`${number(layer.cycles)} cycles`);
    if (layer.cpu !== null) parts.push(`${number(layer.cpu)} ${report.costs.cpu_unit}`);
    return `${parts.join(" + ")} · ${percent(layer.share)}`;
  }

  /** Lay out the operators, partitions as clusters; dagre does the work. */
  function layOut() {
    const graph = new dagre.graphlib.Graph({ compound: true, multigraph: false });
    graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 30, marginx: 16, marginy: 16 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const layer of report.layers) {
      graph.setNode(`l${layer.operator}`, { width: 210, height: 62, layer });
    }
    for (const part of report.partitions) {
      if (part.operators.length === 0) continue;
      graph.setNode(part.name, { part });
      for (const index of part.operators) graph.setParent(`l${index}`, part.name);
    }
    for (const layer of report.layers) {
      for (const source of layer.inputs) graph.setEdge(`l${source}`, `l${layer.operator}`);
    }
    dagre.layout(graph);
    return graph;
  }

  function drawNode(svg, node) {
    const { layer, width, height } = node;
    const link = element(svg, "a", {
      href: `#layer-${layer.operator}`, class: `node ${kind(layer)}`, "data-layer": layer.operator,
      transform: `translate(${node.x - width / 2} ${node.y - height / 2})`,
      "aria-label": `${layer.operator} ${layer.code} ${layer.output}, ${place(layer)}, ${cost(layer)}`,
    });
    element(link, "title", {}, `${layer.code}\n${layer.output}\n${place(layer)}: ${layer.reason}`);
    element(link, "rect", { width, height, rx: 7 });
    const heat = ((layer.share ?? 0) / most) * (width - 16);
    element(link, "rect", { class: "heat", x: 8, y: height - 9, width: heat, height: 4, rx: 2 });
    element(link, "text", { class: "code", x: 10, y: 18 }, `${layer.operator}  ${layer.code}`.slice(0, 28));
    element(link, "text", { class: "sub", x: 10, y: 33 }, short(layer.output, 32));
    element(link, "text", { class: "sub", x: 10, y: 47 }, cost(layer));
  }

  function drawGraph() {
    const graph = layOut();
    const { width, height } = graph.graph();
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "Operators and their connections");
    const arrow = element(element(svg, "defs", {}), "marker", {
      id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
    });
    element(arrow, "path", { d: "M0 0 8 4 0 8Z", class: "arrow" });
    const names = graph.nodes();
    for (const node of names.map((name) => graph.node(name)).filter((one) => one.part)) {
      const cluster = element(svg, "g", { class: node.part.on === "npu" ? "npu" : "other" });
      const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
      element(cluster, "rect", { class: "cluster", x: left, y: top, width: node.width, height: node.height, rx: 12 });
      element(cluster, "text", { class: "label", x: left + 10, y: top - 4 }, node.part.name);
    }
    for (const edge of graph.edges()) {
      const points = graph.edge(edge).points.map((point) => `${point.x} ${point.y}`);
      element(svg, "path", { class: "edge", d: `M${points.join("L")}`, "marker-end": "url(#arrow)" });
    }
    for (const node of names.map((name) => graph.node(name)).filter((one) => one.layer)) drawNode(svg, node);
    const box = document.getElementById("graph");
    box.replaceChildren(svg);
    const zoom = document.getElementById("graph-zoom");
    const scale = (factor) => {
      svg.setAttribute("width", width * factor);
      svg.setAttribute("height", height * factor);
    };
    zoom.addEventListener("input", () => { scale(zoom.value); reveal(); });
    document.getElementById("graph-whole").addEventListener("click", () => {
      const room = parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight;
      const factor = Math.min(1, (room - 2) / height, (box.clientWidth - 2) / width);
      zoom.value = factor;
      scale(factor);
    });
    scale(zoom.value);
  }

  /** Scroll the graph, not the page, to the chosen operator. */
  function reveal() {
    const node = document.querySelector("#graph .node.chosen");
    if (!node) return;
    const box = document.getElementById("graph");
    const [inner, outer] = [node.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollBy({
      left: inner.left + inner.width / 2 - outer.left - outer.width / 2,
      top: inner.top + inner.height / 2 - outer.top - outer.height / 2,
      behavior: "instant",
    });
  }

  /** Show what fits: a box's label, a shorter one or none; of the ticks those that keep apart. */
  function fitLabels() {
    const labels = [...document.querySelectorAll(".plot [data-short]")];
    for (const label of labels) {
      label.dataset.long ??= label.textContent;
      label.textContent = label.dataset.long;
    }
    const rooms = labels.map((label) => label.parentNode.querySelector("rect").getBoundingClientRect().width - 6);
    const tooLong = (label, at) => label.getComputedTextLength() > rooms[at];
    const long = labels.map(tooLong);
    labels.forEach((label, at) => { if (long[at]) label.textContent = label.dataset.short; });
    const none = labels.map((label, at) => long[at] && tooLong(label, at));
    labels.forEach((label, at) => { if (none[at]) label.textContent = ""; });
    for (const row of document.querySelectorAll(".ticks")) {
      let end = -Infinity;
      for (const tick of row.children) {
        const box = tick.getBoundingClientRect();
        tick.style.visibility = box.left < end + 8 ? "hidden" : "visible";
        if (box.left >= end + 8) end = box.right;
      }
    }
  }

  function row(list, name, text) {
    const [term, told] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    told.textContent = text;
    list.append(term, told);
  }

  /** Show a layer's facts, and mark it in every chart and table. */
  function choose(index) {
    const layer = report.layers[index];
    if (layer === undefined) return;
    for (const old of document.querySelectorAll(".chosen")) old.classList.remove("chosen");
    for (const one of document.querySelectorAll(`[data-layer="${index}"]`)) one.classList.add("chosen");
    reveal();
    document.getElementById("facts-title").textContent = `${layer.operator} ${layer.code}`;
    const list = document.getElementById("facts-list");
    list.replaceChildren();
    row(list, "output", `${layer.shape.join(" × ") || "scalar"} ${layer.dtype}`);
    row(list, "runs on", place(layer) + (layer.partition ? `, ${layer.partition}` : ""));
    row(list, "because", layer.reason);
    if (layer.merged_into !== null) row(list, "computed with", `${layer.merged_into}`);
    if (layer.cycles !== null) row(list, "NPU cycles", number(layer.cycles));
    if (layer.cpu !== null) row(list, `CPU ${report.costs.cpu_unit}`, number(layer.cpu));
    if (layer.share !== null) row(list, "share", percent(layer.share));
    row(list, "MACs", number(layer.macs));
    row(list, "constants", `${number(layer.constant_bytes)} B`);
    if (layer.encoded_bytes !== null) row(list, "as the NPU reads them", `${number(layer.encoded_bytes)} B`);
    if (layer.erratum) row(list, "erratum", layer.erratum);
    row(list, "tensor", layer.output);
  }

  function chooseByAddress() {
    const found = /^#layer-(\d+)$/.exec(location.hash);
    if (found) choose(Number(found[1]));
  }

  drawGraph();
  for (const slider of document.querySelectorAll("[data-widens]")) {
    const wide = document.getElementById(slider.dataset.widens);
    slider.addEventListener("input", () => { wide.style.width = `${100 * slider.value}%`; fitLabels(); });
  }
  addEventListener("resize", fitLabels);
  document.addEventListener("click", (event) => {
    const found = event.target.closest("[data-layer]");
    if (!found) return;
    choose(Number(found.dataset.layer));
    if (found.closest("#graph")) event.preventDefault();
  });
  addEventListener("hashchange", chooseByAddress);
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
  const hottest = report.layers.reduce((one, other) => ((other.share ?? 0) > (one.share ?? 0) ? other : one));
  choose(hottest.operator);
  chooseByAddress();
  fitLabels();
  document.documentElement.dataset.ready = "true";
})();
