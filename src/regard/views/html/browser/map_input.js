// Wheel, touch, pointer and keyboard input of a map.
const DRAG = 4; // pixels from which on a press is a drag
const SCROLLING = 350; // milliseconds for which a wheel that scrolls the page goes on doing so
let scrolled = -Infinity;
addEventListener("wheel", (event) => {
  if (!event.defaultPrevented) scrolled = performance.now();
}, { passive: true });

function pointIn(box, event) {
  const frame = box.getBoundingClientRect();
  return { x: event.clientX - frame.left, y: event.clientY - frame.top };
}

regard.attachInput = (map) => {
  const { box } = map, pointers = new Map();
  let dragged = false, pinch = null, pending = null;

  /** Moves the cursor to the last position of the pointer, once per frame. */
  function point(at) {
    if (pending === null) requestAnimationFrame(() => {
      const cell = pending && map.cellAt(pending.x, pending.y);
      pending = null;
      if (cell?.row !== map.cursor?.row || cell?.column !== map.cursor?.column) map.setCursor(cell);
    });
    pending = at ?? false;
  }

  box.addEventListener("wheel", (event) => {
    if (!map.matrix) return;
    const unit = event.deltaMode ? 16 : 1, deltaX = event.deltaX * unit, deltaY = event.deltaY * unit;
    const scrollsPage = performance.now() - scrolled < SCROLLING || (map.isFitted && (deltaY >= 0 || !map.canZoomIn));
    if (scrollsPage && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) map.pan(-(deltaX || deltaY), event.shiftKey ? 0 : -deltaY);
    else map.zoomBy(Math.exp(-Math.max(-240, Math.min(240, deltaY)) * (event.ctrlKey ? 0.008 : 0.002)), pointIn(box, event));
    point(pointIn(box, event));
  }, { passive: false });

  box.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, pointIn(box, event));
    dragged = false;
    if (pointers.size === 1 && !map.showsAll) box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const at = pointIn(box, event), before = pointers.get(event.pointerId);
    if (pointers.size === 2 && before) {
      pointers.set(event.pointerId, at);
      movePinch();
    } else if (before && !map.showsAll) {
      if (!dragged && Math.hypot(at.x - before.x, at.y - before.y) < DRAG) return;
      dragged = true;
      map.pan(at.x - before.x, at.y - before.y);
      pointers.set(event.pointerId, at);
    } else point(at);
  });
  function movePinch() {
    const [a, b] = [...pointers.values()], distance = Math.hypot(a.x - b.x, a.y - b.y);
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    if (pinch) {
      map.zoomBy(distance / pinch.distance, middle);
      map.pan(middle.x - pinch.middle.x, middle.y - pinch.middle.y);
    }
    pinch = { distance, middle };
    dragged = true;
  }
  for (const name of ["pointerup", "pointercancel"])
    box.addEventListener(name, (event) => {
      pointers.delete(event.pointerId);
      pinch = null;
    });
  box.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null);
  });
  box.addEventListener("click", (event) => {
    const at = pointIn(box, event), cell = map.cellAt(at.x, at.y);
    if (dragged || !cell) return;
    map.setCursor(cell);
    map.onRow(cell.row);
  });
  box.addEventListener("dblclick", (event) => map.zoomBy(2.5, pointIn(box, event)));
  box.addEventListener("blur", () => map.setCursor(null));
  box.addEventListener("keydown", (event) => {
    if (!map.matrix || event.altKey || event.ctrlKey || event.metaKey) return;
    if (handleKey(map, event.key, event.shiftKey)) event.preventDefault();
  });
};

/** Arrow keys move the cursor (with Shift by ten), + − 0 zoom, Enter clicks its row. Returns whether a key was used. */
function handleKey(map, key, shift) {
  const { cursor } = map;
  if (["+", "=", "-", "_"].includes(key)) {
    map.zoomBy(key === "+" || key === "=" ? 1.5 : 1 / 1.5, cursor ? map.pointOf(cursor) : null);
    return true;
  }
  if (key === "0") {
    map.fit(false);
    return true;
  }
  if (key === "Enter" || key === " ") {
    if (cursor) map.onRow(cursor.row);
    return Boolean(cursor);
  }
  const step = shift ? 10 : 1, page = Math.max(1, Math.floor(map.frame.height / map.zoom.y) - 1);
  const moves = {
    ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step],
    PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -Infinity], End: [0, Infinity],
  };
  if (!(key in moves)) return false;
  const [down, right] = moves[key], clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
  const row = cursor ? cursor.row + down : Math.floor(map.origin.y);
  const column = cursor ? (cursor.column ?? 0) + right : Math.floor(map.origin.x);
  map.setCursor({ row: clamp(row, map.numRows), column: clamp(column, map.numColumns) }, true);
  return true;
}
