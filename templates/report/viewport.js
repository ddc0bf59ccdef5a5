// Moves and zooms an SVG in a box: wheel, drag, pinch, keys. The page scrolls until the box is used.
const MOST_ZOOM = 3;
const DRAG_PIXELS = 4;
const STEP_PIXELS = 80;

class Viewport {
  /** Show `svg`, of `width` by `height`, in `box`; call `changed` with the part in sight. */
  constructor(svg, box, { width, height }, changed) {
    Object.assign(this, { svg, box, width, height, changed, x: 0, y: 0, scale: 1, pointers: new Map(), isDragged: false });
    box.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    box.addEventListener("keydown", (event) => this.press(event));
    box.addEventListener("pointerdown", (event) => this.take(event));
    box.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    box.addEventListener("dragstart", (event) => event.preventDefault());
    box.addEventListener("click", (event) => { if (this.isDragged) { event.preventDefault(); event.stopPropagation(); } }, true);
    new ResizeObserver(() => this.show()).observe(box);
  }

  get wide() { return this.box.clientWidth / this.scale; }
  get high() { return this.box.clientHeight / this.scale; }
  get wholeScale() { return Math.min(1, this.box.clientWidth / this.width, this.box.clientHeight / this.height); }

  /** Show the part that begins at x and y, but nothing far outside the picture. */
  show() {
    const within = (start, seen, all) => (seen >= all ? (all - seen) / 2 : limited(start, 0, all - seen));
    this.x = within(this.x, this.wide, this.width);
    this.y = within(this.y, this.high, this.height);
    this.svg.setAttribute("viewBox", `${this.x} ${this.y} ${Math.max(this.wide, 1)} ${Math.max(this.high, 1)}`);
    this.changed(this);
  }

  moveBy(right, down) {
    this.x += right / this.scale;
    this.y += down / this.scale;
    this.show();
  }

  /** Zoom, and leave the place that is `left` and `top` pixels inside the box where it is. */
  zoom(factor, left = this.box.clientWidth / 2, top = this.box.clientHeight / 2) {
    const [x, y] = [this.x + left / this.scale, this.y + top / this.scale];
    this.scale = limited(this.scale * factor, this.wholeScale, MOST_ZOOM);
    [this.x, this.y] = [x - left / this.scale, y - top / this.scale];
    this.show();
  }

  showWhole() { this.zoom(0); }

  centre(x, y) {
    [this.x, this.y] = [x - this.wide / 2, y - this.high / 2];
    this.show();
  }

  turn(event) {
    const factor = wheelFactor(event, this.box);
    if (factor === null) return;
    event.preventDefault();
    const outer = this.box.getBoundingClientRect();
    this.zoom(factor, event.clientX - outer.left, event.clientY - outer.top);
  }

  press(event) {
    const factor = keyFactor(event);
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (factor !== null) this.zoom(factor);
    else if (event.target === this.box && (right || down)) this.moveBy(STEP_PIXELS * right, STEP_PIXELS * down);
    else return;
    event.preventDefault();
  }

  take(event) {
    if (event.button !== 0) return;
    if (this.pointers.size === 0) this.isDragged = false;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  /** Move with one pointer, zoom with two. */
  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const [right, down] = [before.x - event.clientX, before.y - event.clientY];
    if (!this.isDragged && Math.hypot(right, down) < DRAG_PIXELS) return;
    this.isDragged = true;
    this.box.setPointerCapture(event.pointerId);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) this.pinch(other, before, event);
    else this.moveBy(right, down);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  pinch(other, before, now) {
    const apart = Math.hypot(before.x - other.x, before.y - other.y);
    const outer = this.box.getBoundingClientRect();
    const [left, top] = [(other.x + now.clientX) / 2 - outer.left, (other.y + now.clientY) / 2 - outer.top];
    this.zoom(Math.hypot(now.clientX - other.x, now.clientY - other.y) / Math.max(apart, 1), left, top);
  }
}
