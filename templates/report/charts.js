// Charts over time: they widen and scroll in their boxes, and their labels fit.

/** Show what fits: a box's label, a shorter one or none; of the ticks those that keep apart. */
function fitLabels() {
  const labels = [...document.querySelectorAll(".plot [data-short]")];
  for (const label of labels) {
    label.dataset.long ??= label.textContent;
    label.dataset.room = "";
  }
  const rooms = labels.map((label) => label.previousElementSibling.getBoundingClientRect().width - 6);
  const roomy = labels.filter((label, at) => {
    const hasRoom = rooms[at] > 4;
    const text = hasRoom ? label.dataset.long : "";
    if (label.textContent !== text) label.textContent = text;
    label.dataset.room = rooms[at];
    return hasRoom;
  });
  const tooLong = (label) => label.getComputedTextLength() > Number(label.dataset.room);
  const long = roomy.filter(tooLong);
  for (const label of long) label.textContent = label.dataset.short;
  for (const label of long.filter(tooLong)) label.textContent = "";
  for (const row of document.querySelectorAll(".ticks")) {
    let end = -Infinity;
    for (const tick of row.children) {
      const box = tick.getBoundingClientRect();
      tick.style.visibility = box.left < end + 8 ? "hidden" : "visible";
      if (box.left >= end + 8) end = box.right;
    }
  }
}

let awaited = 0;
function fitLabelsSoon() {
  cancelAnimationFrame(awaited);
  awaited = requestAnimationFrame(fitLabels);
}

/** Let a chart widen by its slider, the wheel and keys, and move by dragging. */
function widen(slider) {
  const wide = byId(slider.dataset.widens);
  const chart = wide.parentElement;
  let factor = 1;
  const zoom = (wanted, at = chart.clientWidth / 2) => {
    const seen = (chart.scrollLeft + at) / factor;
    factor = limited(wanted, Number(slider.min), Number(slider.max));
    wide.style.width = `${100 * factor}%`;
    slider.value = factor;
    chart.scrollLeft = seen * factor - at;
    fitLabelsSoon();
  };
  slider.addEventListener("input", () => { zoom(Number(slider.value)); fitLabels(); });
  chart.addEventListener("wheel", (event) => {
    const by = wheelFactor(event, chart);
    if (by === null || event.shiftKey) return;
    event.preventDefault();
    zoom(factor * by, event.clientX - chart.getBoundingClientRect().left);
  }, { passive: false });
  chart.addEventListener("keydown", (event) => {
    const by = keyFactor(event);
    if (by === null) return;
    event.preventDefault();
    zoom(factor * by);
  });
  dragSideways(chart);
}

/** Move a chart by the mouse; a finger scrolls it anyway. */
function dragSideways(chart) {
  let from = null;
  let isDragged = false;
  chart.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) from = event.clientX + chart.scrollLeft;
    isDragged = false;
  });
  chart.addEventListener("pointermove", (event) => {
    if (from === null || Math.abs(from - event.clientX - chart.scrollLeft) < 4) return;
    isDragged = true;
    chart.setPointerCapture(event.pointerId);
    chart.scrollLeft = from - event.clientX;
  });
  for (const end of ["pointerup", "pointercancel"]) chart.addEventListener(end, () => { from = null; });
  chart.addEventListener("click", (event) => { if (isDragged) event.stopPropagation(); }, true);
}
