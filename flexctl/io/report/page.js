"use strict";
// colours of the page, light or dark; those of curves are lightened where the ground is dark
const dark = matchMedia("(prefers-color-scheme: dark)"), DARKER = {"#0072B2": "#7d93ff", "#000000": "#e6edf3",
  "#57606a": "#9198a1", "#555555": "#9198a1", "#b42318": "#ff7b72"};
const paint = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const everything = [];
const seen = colour => dark.matches && DARKER[colour] || colour;
const make = (tag, props, ...inside) => {
  const node = Object.assign(document.createElement(tag), props || {});
  inside.forEach(x => node.append(x));
  return node;
};
const short = (x, digits = 5) => x === null || x === undefined ? "" : typeof x === "string" ? x
  : !isFinite(x) ? (x > 0 ? "∞" : x < 0 ? "-∞" : "")
  : x && Math.abs(x) < 1e-3 ? (+x.toPrecision(digits)).toExponential() : String(+x.toPrecision(digits));
const number = x => x === null ? NaN : x;  // JSON has no NaN
const DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3]];
// many numbers stand in a page as 32-bit floats in base 64, half as long as their digits
const numbers = x => typeof x !== "string" ? x.map(number)
  : Array.from(new Float32Array(Uint8Array.from(atob(x), c => c.charCodeAt(0)).buffer));

// ---- tables
function table(block) {
  const body = make("tbody"), head = make("tr"), whole = make("table");
  if (block.title) whole.append(make("caption", {textContent: block.title}));
  const rows = block.rows.map(row => {
    const tr = make("tr");
    row.forEach((cell, j) => {
      const rich = cell !== null && typeof cell === "object";
      const td = make("td", {textContent: rich ? cell.text : short(cell, 4)});
      if (block.columns[j].left) td.classList.add("left");
      if (td.textContent.length > 48) td.classList.add("long");
      if (rich && cell.mood) td.classList.add(cell.mood);
      tr.append(td);
    });
    body.append(tr);
    return {tr, keys: row.map(cell => cell !== null && typeof cell === "object" ? cell.key ?? cell.text : cell)};
  });
  block.columns.forEach((column, j) => {
    const button = make("button", {type: "button", title: "sort"});
    column.name.split("\n").forEach((line, k) => { if (k) button.append(make("br")); button.append(line); });
    const th = make("th", {scope: "col"}, button);
    if (column.left) th.classList.add("left");
    button.onclick = () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      head.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rank = x => x === null || x === "" ? 2 : typeof x === "number" ? 0 : 1;
      const order = (a, b) => rank(a) - rank(b) ||
        (up ? 1 : -1) * (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
      [...rows].sort((a, b) => order(a.keys[j], b.keys[j])).forEach(row => body.append(row.tr));
    };
    head.append(th);
  });
  whole.append(make("thead", {}, head), body);
  return make("div", {className: "wide", tabIndex: 0, role: "region", ariaLabel: block.title || "table"}, whole);
}

// ---- charts: drag to zoom, double-click or 0 to see everything, arrow keys move the cursor
function ticks(low, high, count) {
  const raw = (high - low) / count, p = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(q => q * p).find(q => q >= raw) || raw, found = [];
  for (let m = Math.ceil(low / step - 1e-9); m * step <= high + 1e-9 * step; m++) found.push(m * step);
  return found;
}
function logTicks(low, high) {
  const found = [];
  for (let d = Math.floor(low); d <= Math.ceil(high); d++)
    (high - low > 2.5 ? [1] : high - low > 1 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9]).forEach(m => {
      const x = d + Math.log10(m);
      if (x >= low - 1e-9 && x <= high + 1e-9) found.push(x);
    });
  return found;
}
class Chart {
  constructor(spec, group) {
    this.spec = spec; this.group = group; this.hidden = new Set(); this.range = spec.view ? spec.view.x : null;
    this.span = spec.view ? spec.view.y : null; this.drag = null;
    this.canvas = make("canvas", {tabIndex: 0, ariaLabel: spec.title + ". Drag to zoom, double-click to see " +
      "everything; left and right arrow move the cursor, + and - zoom, 0 shows everything."});
    this.canvas.setAttribute("role", "img");
    this.legend = make("div", {className: "legend"}); this.marks = [];
    this.series = spec.series.map(s => ({...s, x: numbers(s.x).map(x => spec.x.log ? Math.log10(x) : x),
      y: numbers(s.y).map(y => spec.y.log ? Math.log10(Math.max(y, 1e-300)) : y)}));
    this.buttons = this.series.map((s, k) => {
      const mark = make("i"), read = make("span", {className: "read"});
      if (s.dash) mark.style.borderTopStyle = +s.dash === 2 ? "dotted" : "dashed";
      const button = make("button", {type: "button", ariaPressed: "true"}, mark, s.name + " ", read);
      button.onclick = () => {
        this.hidden.has(k) ? this.hidden.delete(k) : this.hidden.add(k);
        button.ariaPressed = String(!this.hidden.has(k)); this.draw();
      };
      this.legend.append(button);
      this.marks.push(mark);
      return read;
    });
    everything.push(this);
    this.where = make("span", {className: "read quiet"});
    this.legend.append(this.where);
    this.node = make("figure", {}, make("figcaption", {textContent: spec.title}), this.canvas, this.legend);
    this.full = this.extent();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  extent() {
    const all = this.series.flatMap(s => s.x).filter(isFinite);
    let low = Math.min(...[Infinity, ...sampled(all, Math.min)]), high = Math.max(...[-Infinity, ...sampled(all, Math.max)]);
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const pad = this.spec.points ? 0.06 * (high - low) : 0;
    return [low - pad, high + pad];
  }
  view() { return this.range || (this.group.linked && this.group.range) || this.full; }
  heights([low, high]) {
    if (this.span) return this.span;
    let a = Infinity, b = -Infinity;
    this.series.forEach((s, k) => { if (!this.hidden.has(k)) s.y.forEach((y, i) => {
      if (isFinite(y) && s.x[i] >= low && s.x[i] <= high) { a = Math.min(a, y); b = Math.max(b, y); } }); });
    if (!isFinite(a)) { a = 0; b = 1; }
    if (this.spec.y.floor !== undefined && b > this.spec.y.floor) a = Math.max(a, this.spec.y.floor);
    if (this.spec.y.log) b = Math.max(b, a + 0.3);
    if (!(b > a)) { const room = Math.abs(a) * 0.1 || 1; a -= room; b += room; }
    const pad = 0.06 * (b - a);
    return [a - pad, b + pad];
  }
  draw() {
    const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth, h = Math.round(Math.max(200, Math.min(300, 0.56 * w)));
    if (!w) return;
    this.canvas.style.height = h + "px"; this.canvas.width = w * ratio; this.canvas.height = h * ratio;
    const c = this.canvas.getContext("2d"), left = 62, right = 12, top = 10, bottom = 40;
    const INK = paint("ink"), EDGE = paint("edge");
    c.scale(ratio, ratio); c.font = "12px system-ui, sans-serif";
    const [x0, x1] = this.view();
    let [y0, y1] = this.heights([x0, x1]), px = w - left - right, py = h - top - bottom;
    let a = x0, b = x1;
    if (this.spec.equal) {  // one scale for both axes
      const scale = Math.max((x1 - x0) / px, (y1 - y0) / py), mx = (x0 + x1) / 2, my = (y0 + y1) / 2;
      a = mx - scale * px / 2; b = mx + scale * px / 2; y0 = my - scale * py / 2; y1 = my + scale * py / 2;
    }
    this.X = x => left + px * (x - a) / (b - a); this.Y = y => top + py * (1 - (y - y0) / (y1 - y0));
    this.back = q => a + (q - left) / px * (b - a);
    this.level = z => y0 + (1 - (z - top) / py) * (y1 - y0);
    c.fillStyle = INK; c.strokeStyle = paint("grid"); c.lineWidth = 1; c.textBaseline = "middle";
    (this.spec.y.log ? logTicks(y0, y1) : this.spec.y.step ? multiples(y0, y1, this.spec.y.step) : ticks(y0, y1, 5)).forEach(y => {
      line(c, [[left, this.Y(y)], [w - right, this.Y(y)]]); c.textAlign = "right";
      c.fillText(short(this.spec.y.log ? 10 ** y : y, 4), left - 6, this.Y(y)); });
    c.textBaseline = "top"; c.textAlign = "center";
    (this.spec.x.log ? logTicks(a, b) : ticks(a, b, Math.max(3, px / 90))).forEach(x => {
      line(c, [[this.X(x), top], [this.X(x), top + py]]);
      c.fillText(short(this.spec.x.log ? 10 ** x : x, 4), this.X(x), h - bottom + 6); });
    c.fillText(this.spec.x.label, left + px / 2, h - 17);
    c.save(); c.translate(12, top + py / 2); c.rotate(-Math.PI / 2); c.textBaseline = "middle";
    c.fillText(this.spec.y.label, 0, 0); c.restore();
    c.strokeStyle = EDGE; c.strokeRect(left, top, px, py);
    c.save(); c.beginPath(); c.rect(left, top, px, py); c.clip();
    (this.spec.lines || []).forEach(m => { c.strokeStyle = EDGE; c.setLineDash([4, 4]);
      if (m.x !== undefined) { const x = this.X(this.spec.x.log ? Math.log10(m.x) : m.x); line(c, [[x, top], [x, top + py]]); }
      else { const y = this.Y(this.spec.y.log ? Math.log10(m.y) : m.y); line(c, [[left, y], [w - right, y]]); }
      c.setLineDash([]); });
    (this.spec.modes || []).forEach(m => { c.fillStyle = paint("quiet"); wedge(c, this.X(Math.log10(m.x)), top); });
    this.series.forEach((s, k) => { if (!this.hidden.has(k)) this.trace(c, s, left, px); });
    this.drawCursor(c, top, py);
    this.marks.forEach((mark, k) => { mark.style.borderTopColor = seen(this.series[k].colour); });
    if (this.drag) {
      const [q, r, z, y] = this.drag; c.fillStyle = "rgba(9,105,218,.15)";
      if (this.spec.points) c.fillRect(q, z, r - q, y - z); else c.fillRect(q, top, r - q, py);
    }
    c.restore();
    this.read();
  }
  trace(c, s) {
    c.strokeStyle = c.fillStyle = seen(s.colour); c.lineWidth = s.width || 1.7;
    if (this.spec.points && !s.line) {
      s.x.forEach((x, i) => { if (isFinite(x) && isFinite(s.y[i])) mark(c, this.X(x), this.Y(s.y[i]), s.mark || "x"); });
      return;
    }
    c.setLineDash(DASHES[+(s.dash || 0) % DASHES.length]); c.beginPath();
    let begun = false, before = 0;
    s.x.forEach((x, i) => {
      const y = s.y[i];
      if (!isFinite(x) || !isFinite(y)) { begun = false; return; }
      const q = this.X(x), z = this.Y(y);
      if (!begun) c.moveTo(q, z); else { if (s.held) c.lineTo(q, before); c.lineTo(q, z); }
      begun = true; before = z;
    });
    c.stroke(); c.setLineDash([]);
  }
  drawCursor(c, top, py) {
    const at = this.group.cursor;
    if (this.spec.points) {
      if (this.nearest) { c.strokeStyle = paint("ink"); c.lineWidth = 1.5; c.beginPath();
        c.arc(this.X(this.nearest.x), this.Y(this.nearest.y), 7, 0, 7); c.stroke(); }
    } else if (at !== null && this.spec.cursor !== false) {
      const x = this.X(this.spec.x.log ? Math.log10(at) : at);
      c.strokeStyle = paint("quiet"); c.lineWidth = 1; line(c, [[x, top], [x, top + py]]);
    }
  }
  read() {  // what is under the cursor, beside the names
    if (this.spec.points) { this.where.textContent = this.nearest ? this.nearest.text : ""; return; }
    const at = this.group.cursor;
    this.where.textContent = at === null ? "" : "at " + short(at) + " " + (this.spec.x.unit || "") + this.mode(at);
    this.series.forEach((s, k) => {
      const i = at === null ? -1 : locate(s.x, this.spec.x.log ? Math.log10(at) : at);
      const y = i < 0 ? NaN : s.y[i];
      this.buttons[k].textContent = isFinite(y) ? short(this.spec.y.log ? 10 ** y : y, 4) : "";
    });
  }
  mode(at) {  // which mode it is, beside its frequency
    const off = m => Math.abs(Math.log(m.x / at)), near = (this.spec.modes || []).reduce((a, b) => a && off(a) <= off(b) ? a : b, null);
    return near && off(near) < 0.08 ? ", " + near.text : "";
  }
  point(q, z) {
    let best = null, least = 900;
    this.series.forEach((s, k) => { if (!this.hidden.has(k)) s.x.forEach((x, i) => {
      if (!isFinite(x) || !isFinite(s.y[i])) return;
      const d = (this.X(x) - q) ** 2 + (this.Y(s.y[i]) - z) ** 2;
      if (d < least) { least = d; best = {x, y: s.y[i], text: s.texts ? s.texts[i] :
        short(this.spec.x.log ? 10 ** x : x) + ", " + short(this.spec.y.log ? 10 ** s.y[i] : s.y[i])}; } }); });
    this.nearest = best; this.draw();
  }
  put(x) { this.group.cursor = this.spec.x.log ? 10 ** x : x; this.group.moved(this); }
  zoom(range, span = null) {
    if (range && !(range[1] - range[0] > 1e-9 * (this.full[1] - this.full[0]))) return;
    if (this.group.linked && !this.spec.points) { this.group.range = range; this.group.redraw(); }
    else { this.range = range; this.span = span; this.draw(); }
  }
  listen() {
    const v = this.canvas, place = e => e.clientX - v.getBoundingClientRect().left, down = e => e.clientY - v.getBoundingClientRect().top;
    v.onpointermove = e => {
      const q = place(e);
      if (this.drag) { this.drag[1] = q; this.drag[3] = down(e); this.draw(); return; }
      if (this.spec.points) this.point(q, down(e));
      else this.put(Math.min(Math.max(this.back(q), this.view()[0]), this.view()[1]));
    };
    v.onpointerdown = e => {
      if (e.button === 0) { this.drag = [place(e), place(e), down(e), down(e)]; v.setPointerCapture(e.pointerId); } };
    v.onpointerup = () => {
      const [q, r, z, y] = this.drag || [0, 0, 0, 0], up = (p, q) => p - q;
      this.drag = null;
      if (!(Math.abs(r - q) > 8)) { this.draw(); return; }
      const tall = this.spec.points && Math.abs(y - z) > 8;  // points are far apart in both directions
      this.zoom([q, r].map(this.back).sort(up), tall ? [z, y].map(this.level).sort(up) : null);
    };
    v.onpointercancel = () => { this.drag = null; this.draw(); };
    v.ondblclick = () => this.zoom(null);
    v.onkeydown = e => {
      const [a, b] = this.view(), step = (b - a) / 100, now = this.group.cursor === null ? (a + b) / 2
        : this.spec.x.log ? Math.log10(this.group.cursor) : this.group.cursor;
      if (e.key === "ArrowRight") this.put(Math.min(now + step, b));
      else if (e.key === "ArrowLeft") this.put(Math.max(now - step, a));
      else if (e.key === "+" || e.key === "=") this.zoom([now - 0.35 * (b - a), now + 0.35 * (b - a)], this.span);
      else if (e.key === "-") this.zoom([Math.max(a - 0.3 * (b - a), this.full[0]), Math.min(b + 0.3 * (b - a), this.full[1])], this.span);
      else if (e.key === "0") this.zoom(null);
      else return;
      e.preventDefault();
    };
  }
}
const sampled = (values, of) => values.length < 5e4 ? values : [values.reduce((a, b) => of(a, b))];
const multiples = (low, high, step) => {
  const found = [], every = step * Math.max(1, 2 ** Math.ceil(Math.log2((high - low) / step / 8)));
  for (let m = Math.ceil(low / every); m * every <= high; m++) found.push(m * every);
  return found;
};
function line(c, points) { c.beginPath(); points.forEach((p, i) => i ? c.lineTo(...p) : c.moveTo(...p)); c.stroke(); }
function mark(c, x, y, kind) {
  c.beginPath();
  if (kind === "x") { c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y + 4); c.moveTo(x - 4, y + 4); c.lineTo(x + 4, y - 4); c.stroke(); }
  else { c.arc(x, y, 3.5, 0, 7); kind === "o" ? c.stroke() : c.fill(); }
}
function wedge(c, x, y) { c.beginPath(); c.moveTo(x - 4, y); c.lineTo(x + 4, y); c.lineTo(x, y + 6); c.fill(); }
function locate(x, at) {  // the last one not beyond
  let low = 0, high = x.length - 1;
  if (!x.length || at < x[0]) return -1;
  while (low < high) { const middle = (low + high + 1) >> 1; x[middle] <= at ? low = middle : high = middle - 1; }
  return low + 1 < x.length && x[low + 1] - at < at - x[low] ? low + 1 : low;
}
class Group {
  constructor(linked) { this.linked = linked; this.range = null; this.cursor = null; this.charts = []; this.film = null; }
  redraw() { this.charts.forEach(chart => chart.draw()); }
  moved(from) { this.charts.forEach(chart => chart.draw()); if (this.film && from !== this.film) this.film.to(this.cursor); }
}
