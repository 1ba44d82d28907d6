"use strict";
(() => {
  // Wheel, fingers, pointer and keys: what they do to a map.
  const regard = (window.regard ??= {});
  const DRAGGED = 4; // pixels from which on a press is a drag
  const SCROLLING = 350; // milliseconds for which a wheel that began to scroll the page goes on doing so
  let scrolled = -Infinity;
  addEventListener("wheel", (event) => {
    if (!event.defaultPrevented) scrolled = performance.now();
  }, { passive: true });

  function pointIn(box, event) {
    const frame = box.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  }

  regard.steer = (map) => {
    const { box } = map, fingers = new Map();
    let dragged = false, pinched = null, waiting = null;

    /** The last place of the pointer is told, once a frame. */
    function point(at) {
      if (waiting === null) requestAnimationFrame(() => {
        const cell = waiting && map.cellAt(waiting.x, waiting.y);
        waiting = null;
        if (cell?.row !== map.cursor?.row || cell?.column !== map.cursor?.column) map.tell(cell);
      });
      waiting = at ?? false;
    }

    box.addEventListener("wheel", (event) => {
      if (!map.plane) return;
      const pixels = event.deltaY * (event.deltaMode ? 16 : 1), sideways = event.deltaX * (event.deltaMode ? 16 : 1);
      const wanted = event.ctrlKey || event.metaKey, nearer = pixels < 0;
      if (!wanted && (performance.now() - scrolled < SCROLLING || (map.fitted && (!nearer || !map.canGoNearer)))) return;
      event.preventDefault();
      if (event.shiftKey || Math.abs(sideways) > Math.abs(pixels)) map.move(-(sideways || pixels), event.shiftKey ? 0 : -pixels);
      else map.nearer(Math.exp(-Math.max(-240, Math.min(240, pixels)) * (event.ctrlKey ? 0.008 : 0.002)), pointIn(box, event));
      point(pointIn(box, event));
    }, { passive: false });

    box.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, pointIn(box, event));
      dragged = false;
      if (fingers.size === 1 && !map.whole) box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointermove", (event) => {
      const at = pointIn(box, event), before = fingers.get(event.pointerId);
      if (fingers.size === 2 && before) pinch(event.pointerId, at);
      else if (before && !map.whole) {
        if (!dragged && Math.hypot(at.x - before.x, at.y - before.y) < DRAGGED) return;
        dragged = true;
        map.move(at.x - before.x, at.y - before.y);
        fingers.set(event.pointerId, at);
      } else point(at);
    });
    function pinch(moved, at) {
      fingers.set(moved, at);
      const [a, b] = [...fingers.values()], apart = Math.hypot(a.x - b.x, a.y - b.y);
      const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      if (pinched) {
        map.nearer(apart / pinched.apart, middle);
        map.move(middle.x - pinched.middle.x, middle.y - pinched.middle.y);
      }
      pinched = { apart, middle };
      dragged = true;
    }
    const lift = (event) => {
      fingers.delete(event.pointerId);
      pinched = null;
    };
    box.addEventListener("pointerup", lift);
    box.addEventListener("pointercancel", lift);
    box.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") point(null);
    });
    box.addEventListener("click", (event) => {
      if (dragged || !map.plane) return;
      const at = pointIn(box, event), cell = map.cellAt(at.x, at.y);
      if (!cell) return;
      map.tell(cell);
      map.onPressed(cell.row);
    });
    box.addEventListener("dblclick", (event) => map.nearer(2.5, pointIn(box, event)));
    box.addEventListener("blur", () => map.tell(null));
    box.addEventListener("keydown", (event) => press(map, event));
  };

  /** Arrow keys move the cursor (with Shift by ten), + − 0 zoom, Enter presses its row. */
  function press(map, event) {
    if (!map.plane || event.altKey || event.ctrlKey || event.metaKey) return;
    const { key } = event, { cursor } = map;
    if (["+", "=", "-", "_", "0"].includes(key)) {
      if (key === "0") map.fit(false);
      else map.nearer(key === "+" || key === "=" ? 1.5 : 1 / 1.5, cursor ? map.pointOf(cursor) : null);
      event.preventDefault();
      return;
    }
    if ((key === "Enter" || key === " ") && cursor) {
      event.preventDefault();
      map.onPressed(cursor.row);
      return;
    }
    const step = event.shiftKey ? 10 : 1, page = Math.max(1, Math.floor(map.frame.height / map.zoom.y) - 1);
    const ways = {
      ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step],
      PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -Infinity], End: [0, Infinity],
    };
    if (!(key in ways)) return;
    event.preventDefault();
    const [down, across] = ways[key], within = (place, size) => Math.max(0, Math.min(size - 1, place));
    const start = cursor ?? { row: Math.floor(map.origin.y), column: Math.floor(map.origin.x) };
    const moved = cursor ? [start.row + down, (start.column ?? 0) + across] : [start.row, start.column];
    map.cursor = { row: within(moved[0], map.rowCount), column: within(moved[1], map.columnCount) };
    map.follow();
    map.tell();
  }
})();
