// Draws the operators, and a small map of them.
const NODE_WIDTH = 210;
const NODE_HEIGHT = 62;
const MANY = 150;
const FRAME_GAP = 8;
const MAP_PIXELS = 150;

function cost(layer) {
  if (layer.merged_into !== null) return `computed with ${layer.merged_into}`;
  if (layer.share === null) return "";
  const parts = [];
  if (layer.cycles !== null) parts.push(`${number(layer.cycles)} cycles`);
  if (layer.cpu !== null) parts.push(`${number(layer.cpu)} ${report.costs.cpu_unit}`);
  return `${parts.join(" + ")} · ${percent(layer.share)}`;
}

/** Lay out the operators, by dagre; partitions are its clusters, but not in large networks. */
function layOut() {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 30, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const layer of report.layers) {
    graph.setNode(`l${layer.operator}`, { width: NODE_WIDTH, height: NODE_HEIGHT, layer });
  }
  const parts = report.partitions.filter((part) => part.operators.length > 0);
  const hasClusters = report.layers.length <= MANY;
  for (const part of hasClusters ? parts : []) {
    graph.setNode(part.name, { part });
    for (const index of part.operators) graph.setParent(`l${index}`, part.name);
  }
  for (const layer of report.layers) {
    for (const source of layer.inputs) graph.setEdge(`l${source}`, `l${layer.operator}`);
  }
  dagre.layout(graph);
  const frames = parts.map((part) => (hasClusters ? graph.node(part.name) : frameAround(part, graph)));
  return [graph, frames];
}

/** Return a frame around a partition's operators: dagre takes minutes for a hundred clusters. */
function frameAround(part, graph) {
  const nodes = part.operators.map((index) => graph.node(`l${index}`));
  const span = (centre, side) => [
    Math.min(...nodes.map((node) => node[centre] - node[side] / 2)) - FRAME_GAP,
    Math.max(...nodes.map((node) => node[centre] + node[side] / 2)) + FRAME_GAP,
  ];
  const [[left, right], [top, bottom]] = [span("x", "width"), span("y", "height")];
  return { part, x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top };
}

function drawNode(svg, { layer, width, height, x, y }) {
  const link = element(svg, "a", {
    href: `#layer-${layer.operator}`, class: `node ${kind(layer)}`, "data-layer": layer.operator, tabindex: -1,
    transform: `translate(${x - width / 2} ${y - height / 2})`,
    "aria-label": `${layer.operator} ${layer.code} ${layer.output}, ${place(layer)}, ${cost(layer)}`,
  });
  element(link, "title", {}, `${layer.code}\n${layer.output}\n${place(layer)}: ${layer.reason}`);
  element(link, "rect", { width, height, rx: 7 });
  const heat = ((layer.share ?? 0) / mostShare) * (width - 16);
  element(link, "rect", { class: "heat", x: 8, y: height - 9, width: heat, height: 4, rx: 2 });
  element(link, "text", { class: "code", x: 10, y: 18 }, `${layer.operator}  ${layer.code}`.slice(0, 28));
  element(link, "text", { class: "sub", x: 10, y: 33 }, short(layer.output, 32));
  element(link, "text", { class: "sub", x: 10, y: 47 }, cost(layer));
}

function drawAll(graph, frames) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Operators and their connections");
  const arrow = element(element(svg, "defs", {}), "marker", {
    id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
  });
  element(arrow, "path", { d: "M0 0 8 4 0 8Z", class: "arrow" });
  for (const node of frames) {
    const cluster = element(svg, "g", { class: node.part.on === "npu" ? "npu" : "other" });
    const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
    element(cluster, "rect", { class: "cluster", x: left, y: top, width: node.width, height: node.height, rx: 12 });
    element(cluster, "text", { class: "label", x: left + 10, y: top - 4 }, node.part.name);
  }
  for (const edge of graph.edges()) {
    const points = graph.edge(edge).points.map((point) => `${point.x} ${point.y}`);
    element(svg, "path", { class: "edge", d: `M${points.join("L")}`, "marker-end": "url(#arrow)" });
  }
  const operators = report.layers.map((layer) => graph.node(`l${layer.operator}`));
  for (const node of operators) drawNode(svg, node);
  return [svg, operators];
}

/** Draw the map: a rectangle for each operator, and a frame around what is in sight. */
function drawMap(operators, { width, height }, viewport) {
  const map = byId("graph-map");
  const size = (side, most) => limited((side * MAP_PIXELS) / Math.max(width, height), 30, most);
  const [wide, high] = [size(width, MAP_PIXELS), height > 4 * width ? 2 * MAP_PIXELS : size(height, MAP_PIXELS)];
  for (const [key, value] of Object.entries({ width: wide, height: high, viewBox: `0 0 ${width} ${height}` })) map.setAttribute(key, value);
  for (const { layer, x, y } of operators) {
    element(map, "rect", { class: kind(layer), x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2, width: NODE_WIDTH, height: NODE_HEIGHT, "data-node": layer.operator });
  }
  element(map, "rect", { class: "sight" });
  const go = (event) => {
    if (event.buttons !== 1) return;
    const outer = map.getBoundingClientRect();
    viewport().centre(((event.clientX - outer.left) / outer.width) * width, ((event.clientY - outer.top) / outer.height) * height);
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
  map.addEventListener("pointermove", go);
}

function frameInMap({ x, y, wide, high, width, height }) {
  const [frame, map] = [document.querySelector("#graph-map .sight"), byId("graph-map")];
  map.classList.toggle("idle", wide >= width && high >= height);
  const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
  const sides = { x: left, y: top, width: Math.min(x + wide, width) - left, height: Math.min(y + high, height) - top };
  for (const [key, value] of Object.entries(sides)) frame.setAttribute(key, Math.max(value, 0));
}

/** Draw the graph; return how to bring an operator in sight. */
function drawGraph() {
  const [graph, frames] = layOut();
  const size = graph.graph();
  const [svg, operators] = drawAll(graph, frames);
  const box = byId("graph");
  let viewport = null;
  drawMap(operators, size, () => viewport);
  box.replaceChildren(svg);
  box.style.setProperty("--high", `${size.height}px`);
  viewport = new Viewport(svg, box, size, frameInMap);
  viewport.show();
  byId("graph-whole").addEventListener("click", () => viewport.showWhole());
  byId("graph-nearer").addEventListener("click", () => viewport.zoom(1.3));
  byId("graph-farther").addEventListener("click", () => viewport.zoom(1 / 1.3));
  addEventListener("beforeprint", () => viewport.showWhole());
  box.addEventListener("keydown", (event) => walk(event, svg));
  return (index) => {
    const node = graph.node(`l${index}`);
    if (node) viewport.centre(node.x, node.y);
  };
}

/** Go from the operator in focus to the next one, which the arrow keys name. */
function walk(event, svg) {
  const from = event.target.closest(".node");
  if (!from) return;
  const index = Number(from.dataset.layer);
  const onward = () => report.layers.find((layer) => layer.inputs.includes(index))?.operator;
  const to = { ArrowDown: onward, ArrowUp: () => report.layers[index].inputs[0], ArrowRight: () => index + 1, ArrowLeft: () => index - 1 }[event.key];
  const next = to && svg.querySelector(`[data-layer="${to()}"]`);
  if (!to) return;
  event.preventDefault();
  if (!next) return;
  choose(Number(next.dataset.layer));
  next.focus({ preventScroll: true });
}
