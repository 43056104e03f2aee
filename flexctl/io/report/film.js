// ---- the arm in motion; in space it stands on a floor, casts a shadow, and turns with the pointer and the arrow keys
const FROM = [-0.9, 0.45], TIP = "#D55E00";  // as film_files.py
class Film {
  constructor(spec, group) {
    this.spec = spec = unpacked(spec); this.group = group; this.k = 0; this.playing = false; this.n = spec.t.length; this.near = 1;
    this.space = spec.low.length === 3; this.turn = [...FROM]; this.box = this.boxed();
    this.canvas = make("canvas", {tabIndex: 0, ariaLabel: "the arm in motion" + (this.space ? ". Drag or press the arrow keys to turn it, " +
      "+ and - for its size, 0 for the first view." : "")}); this.canvas.setAttribute("role", "img");
    this.play = make("button", {type: "button", textContent: "play"});
    this.slider = make("input", {type: "range", min: 0, max: this.n - 1, value: 0, ariaLabel: spec.label});
    this.speed = make("select", {ariaLabel: "speed"});
    [0.05, 0.1, 0.25, 0.5, 1, 2].forEach(x => this.speed.append(make("option", {value: x, textContent: x + " x", selected: x === spec.speed})));
    this.factor = make("input", {type: "range", min: 0, max: 100, value: this.toSlider(spec.magnified), ariaLabel: "magnification of deflections"});
    this.clock = make("span", {className: "read"});
    this.bar = make("div", {className: "bar"}, this.play, this.speed, this.slider, this.clock);
    this.note = make("span", {className: "read"});
    this.bar.append(make("label", {className: "bar"}, this.note, this.factor));
    const hint = make("span", {className: "quiet", textContent: this.space ? "; drag to turn it" : ""});
    this.node = make("figure", {}, make("figcaption", {textContent: spec.title}, hint), this.canvas, this.bar);
    everything.push(this);
    this.play.onclick = () => { this.playing = !this.playing; this.play.textContent = this.playing ? "pause" : "play"; this.before = null;
      if (this.playing) requestAnimationFrame(now => this.tick(now)); };
    this.slider.oninput = () => this.show(+this.slider.value, true);
    this.factor.oninput = () => this.draw();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  toSlider(x) { return 100 * Math.log(x) / Math.log(1000); }
  magnification() { return +this.factor.value === 0 ? 1 : Math.exp(this.factor.value / 100 * Math.log(1000)); }
  tick(now) {
    if (!this.playing) return;
    if (this.before !== null) {
      const whole = this.spec.t[this.n - 1] - this.spec.t[0];
      this.at = (this.at ?? this.spec.t[this.k]) + (now - this.before) / 1e3 * +this.speed.value;
      if (this.at > this.spec.t[this.n - 1]) this.at -= whole;
      this.show(Math.max(0, locate(this.spec.t, this.at)), true);
    }
    this.before = now;
    requestAnimationFrame(next => this.tick(next));
  }
  to(t) { if (!this.playing) { const k = locate(this.spec.t, t); if (k >= 0) this.show(k, false); } }
  show(k, tell) {
    this.k = k; this.slider.value = k;
    if (!this.playing) this.at = this.spec.t[k];
    this.draw();
    if (tell) { this.group.cursor = this.spec.t[k]; this.group.moved(this); }
  }
  bent(points, factor) {  // what a link is off the chord between its ends, magnified
    const a = points[0], b = points[points.length - 1], m = points.length - 1;
    return points.map((p, i) => p.map((x, d) => {
      const straight = a[d] + (b[d] - a[d]) * i / m;
      return straight + factor * (x - straight);
    }));
  }
  flat(p) {  // across, up, and towards who looks
    if (!this.space) return [p[0], p[1], 0];
    const [a, e] = this.turn, x = Math.cos(a) * p[0] + Math.sin(a) * p[1], y = -Math.sin(a) * p[0] + Math.cos(a) * p[1];
    return [x, Math.cos(e) * p[2] + Math.sin(e) * y, Math.sin(e) * p[2] - Math.cos(e) * y];
  }
  draw() {
    const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth, h = Math.round(Math.max(240, Math.min(460, 0.7 * w)));
    if (!w) return;
    this.canvas.style.height = h + "px"; this.canvas.width = w * ratio; this.canvas.height = h * ratio;
    const c = this.canvas.getContext("2d"), at = this.placed(w, h), {spec, k} = this;
    c.scale(ratio, ratio); c.font = "12px system-ui, sans-serif"; c.lineCap = c.lineJoin = "round";
    const factor = this.magnification(), links = spec.links[k].map(points => this.bent(points, factor));
    if (this.space) this.floor(c, at, links);
    c.strokeStyle = paint("ink"); c.lineWidth = 1.2;
    c.setLineDash([2, 4]); (spec.still || []).forEach(points => line(c, points.map(at))); c.setLineDash([]);
    c.strokeStyle = TIP; c.lineWidth = 1.6; line(c, spec.tip.slice(0, k + 1).map(at));
    const order = links.map((_, i) => i);
    if (this.space) order.sort((i, j) => this.depth(links[i]) - this.depth(links[j]));
    order.forEach(i => {  // what is nearer comes later; a joint is seen on both of its links
      this.link(c, links[i].map(at));
      [links[i], links[i + 1]].forEach(points => points && dot(c, at(points[0]), 4.5, paint("ink")));
    });
    dot(c, at(spec.tip[k]), 4, TIP);
    this.measure(c, h);
    this.clock.textContent = spec.unit ? short(spec.t[k], 4) + " " + spec.unit : "";
    this.note.textContent = "deflections × " + short(factor, 2);
  }
  placed(w, h) {  // how a place in metres becomes one on the canvas
    const {low, high} = this.box, room = 26, f = this.flat(low.map((x, d) => (x + high[d]) / 2));
    const corners = [...Array(2 ** low.length).keys()].map(k => this.flat(low.map((x, d) => k >> d & 1 ? high[d] : x)));
    const half = d => Math.max(...corners.map(p => Math.abs(p[d] - f[d]))) || 0.5;
    const round = Math.hypot(...high.map((x, d) => x - low[d])) / 2;  // an arm in space keeps its size while it turns
    this.scale = this.near * Math.min((w / 2 - room) / (this.space ? round : half(0)),
      (h / 2 - room) / (this.space ? Math.max(half(1), 0.45 * round) : half(1)));
    return p => { const q = this.flat(p); return [w / 2 + this.scale * (q[0] - f[0]), h / 2 - this.scale * (q[1] - f[1])]; };
  }
  depth(points) { return points.reduce((sum, p) => sum + this.flat(p)[2], 0) / points.length; }
  link(c, points) {
    if (!this.space) { c.strokeStyle = seen("#0072B2"); c.lineWidth = 4.5; line(c, points); return; }
    [["#00436b", 7, 0], ["#0072B2", 5, 0], ["#6db9e8", 1.4, -1]].forEach(([colour, width, up]) => {
      c.strokeStyle = colour; c.lineWidth = width; line(c, points.map(([x, y]) => [x + up, y + up])); });
  }
  boxed() {  // all places of the arm; in space as many whole squares of the floor as they need
    const {low, high, bar, floor} = this.spec, down = x => bar * Math.floor(x / bar), up = x => bar * Math.ceil(x / bar);
    return this.space ? {low: [down(low[0]), down(low[1]), floor], high: [up(high[0]), up(high[1]), high[2]]} : {low, high};
  }
  floor(c, at, links) {  // squares as long as the bar, the shadow from straight above, and the axes of the base
    const {floor, bar} = this.spec, {low, high} = this.box, on = p => [p[0], p[1], floor];
    c.strokeStyle = paint("grid"); c.lineWidth = 1;
    for (let x = low[0]; x < high[0] + bar / 2; x += bar) line(c, [[x, low[1], floor], [x, high[1], floor]].map(at));
    for (let y = low[1]; y < high[1] + bar / 2; y += bar) line(c, [[low[0], y, floor], [high[0], y, floor]].map(at));
    c.strokeStyle = paint("shade"); c.lineWidth = 5; links.forEach(points => line(c, points.map(on).map(at)));
    c.strokeStyle = c.fillStyle = paint("quiet"); c.lineWidth = 1;
    const base = [0, 0, 0];
    c.setLineDash([2, 4]); line(c, [base, on(base)].map(at)); c.setLineDash([]);
    ["x", "y", "z"].forEach((name, d) => {
      const [x, y] = at(base.map((_, i) => i === d ? 0.6 * bar : 0));
      line(c, [at(base), [x, y]]); c.fillText(name, x + 5, y - 5); });
  }
  measure(c, h) {
    c.strokeStyle = c.fillStyle = paint("ink"); c.lineWidth = 2;
    const end = 26 + this.spec.bar * this.scale;
    line(c, [[26, h - 12], [end, h - 12]]); c.fillText(short(this.spec.bar) + " m", end + 6, h - 8);
  }
  listen() {
    let last = null;
    if (!this.space) return;
    const v = this.canvas, by = (a, e) => { this.turn = [this.turn[0] + a, Math.max(-1.5, Math.min(1.5, this.turn[1] + e))]; this.draw(); };
    v.onpointerdown = e => { last = [e.clientX, e.clientY]; v.setPointerCapture(e.pointerId); };
    v.onpointermove = e => { if (!last) return;
      by((last[0] - e.clientX) / 150, (e.clientY - last[1]) / 150); last = [e.clientX, e.clientY]; };
    v.onpointerup = v.onpointercancel = () => { last = null; };
    v.onkeydown = e => {
      const d = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
      const size = {"+": 1.2, "=": 1.2, "-": 1 / 1.2}[e.key];
      if (d) by(0.1 * d[0], 0.1 * d[1]);
      else if (size) { this.near = Math.max(0.3, Math.min(8, this.near * size)); this.draw(); }
      else if (e.key === "0") { this.turn = [...FROM]; this.near = 1; this.draw(); }
      else return;
      e.preventDefault();
    };
  }
}
function unpacked(spec) {  // places, frame by frame
  const wide = spec.low.length, flat = numbers(spec.links), tip = numbers(spec.tip);
  const points = (from, at, count) => Array.from({length: count}, (_, i) => from.slice(at + wide * i, at + wide * (i + 1)));
  const frame = wide * spec.counts.reduce((a, b) => a + b, 0);
  const links = spec.t.map((_, k) => { let at = k * frame; return spec.counts.map(n => { at += wide * n; return points(flat, at - wide * n, n); }); });
  return {...spec, links, tip: points(tip, 0, spec.t.length)};
}
function dot(c, [x, y], radius, colour) { c.fillStyle = colour; c.beginPath(); c.arc(x, y, radius, 0, 7); c.fill(); }
