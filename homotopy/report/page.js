"use strict";
(() => {
  // ------------------------------------------------------------------ the data
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const K = data.start.length;
  const first = data.start[0];
  const last = data.stop[K - 1];
  const sign = last >= first ? 1 : -1;
  const span = Math.abs(last - first);
  const state = { t: first, side: "before", jump: -1, row: -1 };

  // Turn running differences into ends of stretches.
  for (const many of Object.values(data.table.curves)) {
    for (const curve of many) {
      for (let j = 1; j < curve.i.length; j += 1) curve.i[j] += curve.i[j - 1];
    }
  }

  function format(value, digits = 6) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    let text = Number(value.toPrecision(digits)).toString();
    if (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9) {
      text = value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
    }
    return text.replace("-", "−");
  }

  function el(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    // Strings always become text nodes.
    node.append(...children);
    return node;
  }

  function svg(name, attributes = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  const color = (piece) => `var(--c${data.colors[piece]})`;

  // ------------------------------------------------------------------ the path at any t

  const endAt = (end) => (end % 2 ? data.stop[end >> 1] : data.start[end >> 1]);

  // The stretch that contains t; where two meet, the later ("after") or the earlier one ("before").
  function locate(t, side) {
    let low = 0;
    let high = K - 1;
    if (side === "after") {
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (sign * data.start[middle] <= sign * t) low = middle;
        else high = middle - 1;
      }
    } else {
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sign * data.stop[middle] >= sign * t) high = middle;
        else low = middle + 1;
      }
    }
    return low;
  }

  function parabola([a, m, z], w) {
    return a + w * (4 * m - 3 * a - z + w * (2 * a - 4 * m + 2 * z));
  }

  function weight(k, t) {
    const length = data.stop[k] - data.start[k];
    return length ? (t - data.start[k]) / length : 0;
  }

  // The points of a curve on both sides of stretch k, and how far t is between them.
  function between(ends, k, t) {
    let low = 0;
    let high = ends.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ends[middle] <= 2 * k) low = middle;
      else high = middle - 1;
    }
    if (low === ends.length - 1) return [low, low, 0];
    const a = endAt(ends[low]);
    const z = endAt(ends[low + 1]);
    return [low, low + 1, z === a ? 0 : (t - a) / (z - a)];
  }

  function curveAt(curve, k, t) {
    const [p, q, w] = between(curve.i, k, t);
    return curve.v[p] + w * (curve.v[q] - curve.v[p]);
  }

  function lineAt(line, t, side) {
    const count = line.t.length;
    let p = 0;
    if (side === "after") {
      while (p + 1 < count && sign * line.t[p + 1] <= sign * t) p += 1;
    } else {
      while (p + 1 < count && sign * line.t[p + 1] < sign * t) p += 1;
    }
    if (sign * line.t[p] > sign * t) return null;
    if (p + 1 === count) return sign * line.t[p] < sign * t ? null : line.values[p];
    const length = line.t[p + 1] - line.t[p];
    const w = length ? (t - line.t[p]) / length : 0;
    return line.values[p] + w * (line.values[p + 1] - line.values[p]);
  }

  function pieceOf(r, k) {
    const events = data.table.events[r];
    let piece = data.table.first[r];
    for (let j = 0; j < events.length && events[j] <= k; j += 2) piece = events[j + 1];
    return piece;
  }

  const jumpAt = (t) => data.jumps.findIndex((jump) => jump.t === t);

  // ------------------------------------------------------------------ the axis of t

  // Each axis maps t to [0, 1] in the order of travel, and back.
  const axes = {
    linear: {
      name: `even in ${data.parameter}`,
      to: (t) => (span ? (t - first) / (last - first) : 0.5),
      from: (x) => first + x * (last - first),
    },
    log: {
      name: `log of ${data.parameter}`,
      to: (t) => (span ? Math.log(t / first) / Math.log(last / first) : 0.5),
      from: (x) => first * Math.pow(last / first, x),
    },
    even: {
      name: "even in break-points",
      to: (t, k) => (span ? ((k ?? locate(t, "after")) + weight(k ?? locate(t, "after"), t)) / K : 0.5),
      from: (x) => {
        const k = Math.min(K - 1, Math.floor(x * K));
        return data.start[k] + (x * K - k) * (data.stop[k] - data.start[k]);
      },
    },
  };
  let axis = data.log ? axes.log : axes.linear;

  // t from a place on the axis; exact at both ends.
  function placed(x) {
    if (x <= 0) return first;
    if (x >= 1) return last;
    return axis.from(x);
  }

  function niceTicks(low, high, count) {
    if (!(high > low)) return [low];
    const raw = (high - low) / Math.max(1, count);
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const ticks = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) {
      ticks.push(Math.abs(v) < 1e-9 * step ? 0 : v);
    }
    return ticks;
  }

  function ticksOfT(count) {
    if (!span) return [first];
    const low = Math.min(first, last);
    const high = Math.max(first, last);
    if (axis === axes.linear) return niceTicks(low, high, count);
    if (axis === axes.log) {
      const ticks = [];
      const decades = Math.log10(high / low);
      const factors = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1) {
        for (const f of factors) {
          const v = Number(`${f}e${e}`);
          if (v >= low && v <= high) ticks.push(v);
        }
      }
      return ticks;
    }
    const ticks = [];
    for (let j = 0; j <= count; j += 1) ticks.push(placed(j / count));
    return ticks;
  }

  // ------------------------------------------------------------------ charts

  const charts = [];
  const ROOM = { left: 58, right: 14, top: 12, bottom: 22 };

  function extent(values) {
    let low = Infinity;
    let high = -Infinity;
    for (const v of values) {
      if (v === null || !Number.isFinite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low > high) return [0, 1];
    if (low === high) return [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
    return [low, high];
  }

  class Chart {
    constructor(spec) {
      this.spec = spec;
      this.value = el("b");
      this.heading = el("h2", {}, el("span", {}, spec.title), this.value);
      this.key = el("div", { class: "key" });
      this.holder = el("div", { class: "holder" });
      this.box = el("section", { class: "chart" }, this.heading, this.key, this.holder);
      $("charts").append(this.box);
      this.height = spec.kind === "sizes" ? 190 : 170;
      if (spec.kind === "sizes") {
        this.used = data.pieces.map((_, p) => spec.values.some((counts) => counts[p] > 0));
        this.counts = data.pieces.map((name, p) => {
          const count = el("b");
          if (this.used[p]) {
            const swatch = el("i");
            swatch.style.background = color(p);
            this.key.append(el("span", {}, swatch, `${name} `, count));
          }
          return count;
        });
      }
    }

    range() {
      const { kind, values } = this.spec;
      if (kind === "sizes") return [0, values[0].reduce((a, b) => a + b, 0)];
      const [low, high] = extent(kind === "objective" ? values.flat() : values);
      return [low - 0.06 * (high - low), high + 0.06 * (high - low)];
    }

    draw() {
      const width = Math.max(200, this.holder.clientWidth);
      const [low, high] = this.range();
      const left = ROOM.left;
      const right = width - ROOM.right;
      const bottom = this.height - ROOM.bottom;
      const X = (t, k) => left + axis.to(t, k) * (right - left);
      const Y = (v) => bottom - ((v - low) / (high - low)) * (bottom - ROOM.top);
      this.X = X;
      this.Y = Y;
      const root = svg("svg", {
        width, height: this.height, viewBox: `0 0 ${width} ${this.height}`, role: "img",
        "aria-label": `${this.spec.title} along ${data.parameter}`,
      });
      const whole = niceTicks(low, high, 4);
      const digits = Math.max(3, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (whole[1] - whole[0] || 1))) + 1);
      for (const v of whole) {
        if (this.spec.kind === "sizes" && v !== Math.round(v)) continue;
        root.append(
          svg("line", { class: "grid", x1: left, x2: right, y1: Y(v), y2: Y(v) }),
          svg("text", { x: left - 6, y: Y(v) + 4, "text-anchor": "end" }, format(v, Math.min(digits, 7))),
        );
      }
      let end = -Infinity;
      const places = ticksOfT(Math.max(2, Math.floor(width / 110))).sort((a, b) => sign * (a - b));
      for (const t of places) {
        const text = format(t, 3);
        const half = 3.4 * text.length;
        const x = Math.min(Math.max(X(t), left), right);
        const at = Math.min(Math.max(x, left + half), right - half);
        if (at - half < end + 8) continue;
        end = at + half;
        root.append(svg("text", { x: at, y: this.height - 6, "text-anchor": "middle" }, text));
      }
      const area = svg("rect", {
        class: "plotarea", x: left, y: ROOM.top, width: Math.max(1, right - left),
        height: bottom - ROOM.top, fill: "transparent",
      });
      if (this.spec.kind === "sizes") this.stack(root, X, Y);
      else if (this.spec.kind === "objective") this.objective(root, X, Y);
      else this.line(root, X, Y, left, right);
      root.append(area);
      if (data.mark) {
        const x = X(data.mark.t);
        root.append(svg("line", { class: "mark", x1: x, x2: x, y1: ROOM.top, y2: bottom }));
      }
      drawJumps(root, X, ROOM.top - 2, bottom);
      this.now = svg("line", { class: "now", y1: ROOM.top, y2: bottom });
      this.dot = svg("circle", { class: "dot", r: 4 });
      root.append(this.now, this.dot);
      follow(area, left, right);
      this.holder.replaceChildren(root);
      this.update();
    }

    stack(root, X, Y) {
      const { values } = this.spec;
      let floor = values.map(() => 0);
      data.pieces.forEach((_, p) => {
        if (!this.used[p]) return;
        const roof = values.map((counts, k) => floor[k] + counts[p]);
        let d = "";
        for (let k = 0; k < K; k += 1) {
          d += `${d ? "L" : "M"}${X(data.start[k], k).toFixed(1)} ${Y(roof[k]).toFixed(1)}`;
          d += `L${this.until(X, k).toFixed(1)} ${Y(roof[k]).toFixed(1)}`;
        }
        for (let k = K - 1; k >= 0; k -= 1) {
          d += `L${this.until(X, k).toFixed(1)} ${Y(floor[k]).toFixed(1)}`;
          d += `L${X(data.start[k], k).toFixed(1)} ${Y(floor[k]).toFixed(1)}`;
        }
        const shape = svg("path", { d: `${d}Z` });
        shape.style.fill = color(p);
        shape.style.stroke = "var(--mix)";
        shape.style.strokeWidth = span ? 0.4 : 24;
        if (!span) shape.style.stroke = color(p);
        root.append(shape);
        floor = roof;
      });
    }

    until(X, k) {
      return axis === axes.even ? X(data.stop[k], k) : X(data.stop[k]);
    }

    objective(root, X, Y) {
      const { values } = this.spec;
      let d = "";
      let drops = "";
      const gap = 0.004 * (this.range()[1] - this.range()[0]);
      for (let k = 0; k < K; k += 1) {
        const three = values[k];
        if (three.includes(null)) continue;
        const broken = k > 0 && values[k - 1][2] !== null && Math.abs(values[k - 1][2] - three[0]) > gap;
        if (broken) drops += `M${X(data.start[k], k)} ${Y(values[k - 1][2])}L${X(data.start[k], k)} ${Y(three[0])}`;
        const x0 = X(data.start[k], k);
        const x1 = this.until(X, k);
        const steps = Math.max(1, Math.min(24, Math.round(Math.abs(x1 - x0) / 8)));
        for (let j = 0; j <= steps; j += 1) {
          const w = j / steps;
          const t = data.start[k] + w * (data.stop[k] - data.start[k]);
          d += `${!d || (j === 0 && broken) ? "M" : "L"}${X(t, k).toFixed(1)} ${Y(parabola(three, w)).toFixed(2)}`;
        }
      }
      root.append(svg("path", { class: "drop", d: drops }), svg("path", { class: "curve", d }));
    }

    line(root, X, Y, left, right) {
      const { t, values, best } = this.spec;
      const inside = (x) => Math.min(Math.max(x, left), right);
      if (best) {
        const [a, z] = best.interval.map((v) => inside(X(v)));
        root.append(svg("rect", {
          class: "band", x: Math.min(a, z), width: Math.max(1, Math.abs(z - a)), y: ROOM.top,
          height: this.height - ROOM.bottom - ROOM.top,
        }));
      }
      let d = "";
      for (let j = 0; j < t.length; j += 1) {
        if (values[j] === null || sign * (t[j] - first) < 0 || sign * (t[j] - last) > 0) continue;
        d += `${d ? "L" : "M"}${X(t[j]).toFixed(1)} ${Y(values[j]).toFixed(2)}`;
      }
      root.append(svg("path", { class: "curve", d }));
      if (best) root.append(svg("circle", { class: "best", cx: inside(X(best.t)), cy: Y(best.value), r: 4.5 }));
    }

    update() {
      const k = state.k;
      const x = this.X(state.t, axis === axes.even ? k : undefined);
      this.now.setAttribute("x1", x);
      this.now.setAttribute("x2", x);
      let value = null;
      if (this.spec.kind === "objective") value = parabola(this.spec.values[k], weight(k, state.t));
      if (this.spec.kind === "line") value = lineAt(this.spec, state.t, state.side);
      if (this.spec.kind === "sizes") {
        this.counts.forEach((count, p) => { count.textContent = String(this.spec.values[k][p]); });
      } else {
        this.value.textContent = value === null ? "not known here" : format(value, 7);
      }
      const shown = value !== null && Number.isFinite(value) && this.spec.kind !== "sizes";
      this.dot.setAttribute("visibility", shown ? "visible" : "hidden");
      if (shown) {
        this.dot.setAttribute("cx", x);
        this.dot.setAttribute("cy", this.Y(value));
      }
      this.current = value;
    }
  }

  // Click or drag on a chart moves the slider.
  function follow(area, left, right) {
    const go = (event) => {
      const box = area.ownerSVGElement.getBoundingClientRect();
      moveTo(placed((event.clientX - box.left - left) / (right - left)), "after");
    };
    area.addEventListener("pointerdown", (event) => {
      area.setPointerCapture(event.pointerId);
      go(event);
    });
    area.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
  }

  function drawJumps(root, X, top, bottom, tabbed = false) {
    const places = data.jumps.map((jump) => X(jump.t, jump.k));
    data.jumps.forEach((jump, j) => {
      const x = places[j];
      const room = Math.min(
        6,
        j ? Math.abs(x - places[j - 1]) / 2 : 6,
        j + 1 < places.length ? Math.abs(places[j + 1] - x) / 2 : 6,
      );
      const group = svg("g", { class: "jump", "data-jump": j });
      group.append(svg("title", {}, `jump at ${data.parameter} = ${format(jump.t)}, ${jump.count} flipped`));
      if (bottom > top + 20 && data.jumps.length <= 60) group.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom }));
      const half = data.jumps.length > 60 ? 2 : 4.5;
      group.append(
        svg("path", { d: `M${x - half} ${top - 8}L${x + half} ${top - 8}L${x} ${top}Z` }),
        svg("rect", { x: x - Math.max(1, room), width: 2 * Math.max(1, room), y: top - 10, height: tabbed ? 14 : bottom - top > 20 && data.jumps.length <= 60 ? bottom - top + 10 : 14 }),
      );
      group.addEventListener("click", () => toJump(j));
      root.append(group);
    });
  }

  // ------------------------------------------------------------------ the fitted function

  let field = null;

  class Field {
    constructor(spec) {
      this.spec = spec;
      const raw = atob(spec.values);
      const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
      this.frames = new Int16Array(bytes.buffer);
      this.size = spec.columns * spec.lines;
      this.grid = new Float64Array(this.size);
      $("field").hidden = false;
      $("field-title").textContent = spec.title;
      $("field-text").textContent = spec.text;
      const shape = (kind) => svg("svg", { viewBox: "-7 -7 14 14" }, this.symbol(kind, 5));
      spec.classes.forEach((name, j) => {
        $("field-key").append(el("span", {}, shape(j), name));
      });
      if (!data.events) return;
      const out = this.symbol(0, 5);
      out.setAttribute("class", "point out");
      out.style.fill = "none";
      $("field-key").append(el("span", {}, svg("svg", { viewBox: "-7 -7 14 14" }, out), spec.rim));
    }

    // Different shapes as well as colours.
    symbol(kind, r) {
      if (kind === 0) return svg("circle", { class: "point k0", r });
      return svg("path", { class: "point k1", d: `M0 ${-r * 1.25}L${r * 1.15} ${r * 0.85}L${-r * 1.15} ${r * 0.85}Z` });
    }

    draw() {
      const { spec } = this;
      const holder = $("plot");
      const width = Math.max(200, holder.clientWidth);
      const height = Math.round(Math.min(460, width * 0.8));
      const left = 44;
      const right = width - 8;
      const top = 6;
      const bottom = height - 36;
      const [x0, x1] = spec.x;
      const [y0, y1] = spec.y;
      this.X = (x) => left + ((x - x0) / (x1 - x0)) * (right - left);
      this.Y = (y) => bottom - ((y - y0) / (y1 - y0)) * (bottom - top);
      this.canvas = el("canvas", { width: spec.columns, height: spec.lines });
      Object.assign(this.canvas.style, {
        left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px`,
      });
      const root = svg("svg", { width, height, role: "img", "aria-label": spec.title });
      const clip = svg("clipPath", { id: "inside" }, svg("rect", { x: left, y: top, width: right - left, height: bottom - top }));
      root.append(svg("defs", {}, clip), svg("rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "none", stroke: "var(--line)" }));
      for (const x of niceTicks(x0, x1, width / 110)) root.append(svg("text", { x: this.X(x), y: bottom + 15, "text-anchor": "middle" }, format(x, 4)));
      for (const y of niceTicks(y0, y1, 5)) root.append(svg("text", { x: left - 5, y: this.Y(y) + 4, "text-anchor": "end" }, format(y, 4)));
      root.append(
        svg("text", { x: right, y: height - 4, "text-anchor": "end" }, spec.names[0]),
        svg("text", { x: 12, y: top + 4, "text-anchor": "end", transform: `rotate(-90 12 ${top + 4})` }, spec.names[1]),
      );
      this.lines = svg("path", { class: spec.kind === "curve" ? "fit" : "zero" });
      this.sides = svg("path", { class: "one" });
      this.points = spec.points.map(([x, y, kind], r) => {
        const point = this.symbol(kind, spec.points.length > 600 ? 2.6 : 3.8);
        point.setAttribute("transform", `translate(${this.X(x)} ${this.Y(y)})`);
        point.append(svg("title", {}, `${data.noun} ${spec.called[r]}`));
        return point;
      });
      root.append(svg("g", { "clip-path": "url(#inside)" }, ...this.points, this.sides, this.lines));
      holder.replaceChildren(this.canvas, root);
      this.drawn = this.points.map(() => "");
      this.update();
    }

    update() {
      const { spec } = this;
      const [p, q, w] = between(spec.frames, state.k, state.t);
      const a = p * this.size;
      const z = q * this.size;
      for (let j = 0; j < this.size; j += 1) {
        this.grid[j] = spec.scale * ((1 - w) * this.frames[a + j] + w * this.frames[z + j]);
      }
      if (spec.kind === "curve") this.curve();
      else this.boundary();
      if (!data.events) return;
      const pieces = piecesAt(state.k);
      this.points.forEach((point, r) => {
        const i = spec.rows[r];
        let name = point.getAttribute("class").split(" ").slice(0, 2).join(" ");
        if (spec.outliers.includes(pieces[i])) name += " out";
        if (i === state.row) name += " chosen";
        if (this.drawn[r] !== name) {
          point.setAttribute("class", name);
          this.drawn[r] = name;
        }
      });
    }

    curve() {
      const { spec } = this;
      let d = "";
      for (let j = 0; j < this.size; j += 1) {
        const x = spec.x[0] + (j / (this.size - 1)) * (spec.x[1] - spec.x[0]);
        d += `${j ? "L" : "M"}${this.X(x).toFixed(1)} ${this.Y(this.grid[j]).toFixed(1)}`;
      }
      this.lines.setAttribute("d", d);
    }

    boundary() {
      const { columns, lines } = this.spec;
      const pen = this.canvas.getContext("2d");
      const image = pen.createImageData(columns, lines);
      for (let r = 0; r < lines; r += 1) {
        for (let c = 0; c < columns; c += 1) {
          const v = this.grid[r * columns + c];
          const at = 4 * ((lines - 1 - r) * columns + c);
          const [red, green, blue] = v > 0 ? [230, 159, 0] : [0, 114, 178];
          image.data.set([red, green, blue, 30 + 50 * Math.min(1, Math.abs(v))], at);
        }
      }
      pen.putImageData(image, 0, 0);
      this.lines.setAttribute("d", this.contour(0));
      this.sides.setAttribute("d", this.contour(1) + this.contour(-1));
    }

    // Where the field has the value `level`: marching squares, straight inside each.
    contour(level) {
      const { columns, lines, x, y } = this.spec;
      const at = (c, r) => this.grid[r * columns + c] - level;
      const place = (c, r) => `${this.X(x[0] + (c / (columns - 1)) * (x[1] - x[0])).toFixed(1)} ${this.Y(y[0] + (r / (lines - 1)) * (y[1] - y[0])).toFixed(1)}`;
      let d = "";
      for (let r = 0; r + 1 < lines; r += 1) {
        for (let c = 0; c + 1 < columns; c += 1) {
          const corner = [at(c, r), at(c + 1, r), at(c + 1, r + 1), at(c, r + 1)];
          const met = [];
          const edges = [[0, 1], [1, 2], [2, 3], [3, 0]];
          const spot = [[0, 0], [1, 0], [1, 1], [0, 1]];
          for (const [i, j] of edges) {
            if (corner[i] > 0 === corner[j] > 0) continue;
            const w = corner[i] / (corner[i] - corner[j]);
            met.push(place(c + spot[i][0] + w * (spot[j][0] - spot[i][0]), r + spot[i][1] + w * (spot[j][1] - spot[i][1])));
          }
          for (let j = 0; j + 1 < met.length; j += 2) d += `M${met[j]}L${met[j + 1]}`;
        }
      }
      return d;
    }
  }

  // The piece of every coordinate on stretch k, updated from the stretch requested last.
  const cursor = { k: -1, next: 0, pieces: null };
  function piecesAt(k) {
    const events = data.events;
    if (cursor.pieces === null || k < cursor.k) {
      cursor.pieces = events.first.slice();
      cursor.next = 0;
    }
    while (cursor.next < events.stretch.length && events.stretch[cursor.next] <= k) {
      cursor.pieces[events.row[cursor.next]] = events.to[cursor.next];
      cursor.next += 1;
    }
    cursor.k = k;
    return cursor.pieces;
  }

  // ------------------------------------------------------------------ tables

  // A table that sorts by its columns: {title, numeric, cell(r) -> node or text, key(r), text(r)}.
  class Sorted {
    constructor(holder, columns, count, onRow) {
      this.columns = columns;
      this.body = el("tbody");
      const heads = columns.map((column, c) => {
        const head = el("th", { scope: "col", class: column.numeric ? "n" : "" });
        if (column.key) head.append(el("button", { type: "button", title: column.title, onclick: () => this.sort(c) }, column.title));
        else {
          head.classList.add("plain");
          head.append(column.title);
        }
        return head;
      });
      this.heads = heads;
      this.rows = Array.from({ length: count }, (_, r) => {
        const row = el("tr", { "data-row": r });
        columns.forEach((column) => {
          const cell = el("td", { class: column.numeric ? "n" : "" });
          const content = column.cell(r);
          if (typeof content === "string" && content.length > 24) cell.title = content;
          cell.append(content);
          row.append(cell);
        });
        if (onRow) row.addEventListener("click", () => onRow(r));
        return row;
      });
      this.body.append(...this.rows);
      const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), this.body);
      holder.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, table));
    }

    sort(c) {
      const head = this.heads[c];
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of this.heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      this.by = { c, factor: down ? -1 : 1 };
      this.arrange();
    }

    arrange() {
      if (!this.by) return;
      const { c, factor } = this.by;
      const keys = this.rows.map((_, r) => this.columns[c].key(r));
      const order = this.rows.map((_, r) => r).sort((a, b) => {
        const x = keys[a];
        const y = keys[b];
        // Missing values sort last in both directions.
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        const less = typeof x === "string" || typeof y === "string"
          ? String(x).localeCompare(String(y), undefined, { numeric: true })
          : x - y;
        return factor * less || a - b;
      });
      this.body.append(...order.map((r) => this.rows[r]));
    }
  }

  let rowTable = null;
  const live = [];

  function buildRows() {
    const { table } = data;
    $("rows-title").textContent = table.title;
    $("rows-text").textContent = table.text;
    const columns = table.columns.map((column) => {
      if (column.kind === "state") {
        const longest = Math.max(...data.pieces.map((name) => name.length));
        const chips = table.rows.map(() => {
          const swatch = el("i");
          const text = el("span");
          const chip = el("span", { class: "chip live" }, swatch, text);
          chip.style.width = `${2.6 + 0.56 * longest}em`;
          return { chip, swatch, text, piece: -1 };
        });
        live.push((k) => chips.forEach((chip, r) => {
          const piece = pieceOf(r, k);
          if (piece === chip.piece) return;
          chip.piece = piece;
          chip.text.textContent = data.pieces[piece];
          chip.swatch.style.background = color(piece);
        }));
        return { title: `${column.title} here`, cell: (r) => chips[r].chip, key: (r) => data.pieces[chips[r].piece], text: (r) => data.pieces[chips[r].piece] };
      }
      if (column.kind === "value") {
        const values = table.rows.map(() => ({ node: el("span", { class: "live number" }), value: 0 }));
        live.push((k, t) => values.forEach((v, r) => {
          v.value = curveAt(table.curves[column.curve][r], k, t);
          v.node.textContent = format(v.value, 3);
        }));
        return { title: `${column.title} here`, numeric: true, cell: (r) => values[r].node, key: (r) => values[r].value };
      }
      if (column.kind === "spark") {
        return { title: column.title, cell: (r) => spark(table.curves[column.curve][r]) };
      }
      const numeric = column.kind === "number";
      const cells = column.kind === "name" ? table.names : column.cells;
      const text = (r) => (cells[r] === null ? "–" : numeric ? format(cells[r], 5) : String(cells[r]));
      return {
        title: column.title, numeric, text, key: (r) => cells[r],
        cell: (r) => (column.marked && column.marked[r] ? el("span", { class: "changed" }, text(r)) : text(r)),
      };
    });
    rowTable = new Sorted($("table"), columns, table.rows.length, (r) => choose(table.rows[r]));
    $("search").addEventListener("input", search);
    search();
  }

  const sparks = [];
  function spark(curve) {
    const width = 130;
    const height = 26;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const line = svg("path", { class: "curve", "vector-effect": "non-scaling-stroke" });
    const now = svg("line", { class: "now", y1: 0, y2: height, "vector-effect": "non-scaling-stroke" });
    let [low, high] = extent(curve.v);
    if (low < 0 && high > 0) root.append(svg("line", { class: "zero", x1: 0, x2: width, y1: 23 - (20 * (0 - low)) / (high - low), y2: 23 - (20 * (0 - low)) / (high - low) }));
    root.append(line, now);
    const Y = (v) => 23 - (20 * (v - low)) / (high - low);
    const draw = () => {
      let d = "";
      const add = (t, k, v) => { d += `${d ? "L" : "M"}${(width * axis.to(t, k)).toFixed(1)} ${Y(v).toFixed(1)}`; };
      curve.i.forEach((end, j) => {
        const t = endAt(end);
        add(t, axis === axes.even ? end >> 1 : undefined, curve.v[j]);
        if (axis === axes.linear || j + 1 === curve.i.length) return;
        // A line in t is curved on another axis.
        const a = axis.to(t, end >> 1);
        const next = curve.i[j + 1];
        const z = axis.to(endAt(next), next >> 1);
        for (let s = 1; s < Math.min(12, (z - a) * 40); s += 1) {
          const at = placed(a + ((z - a) * s) / Math.min(12, (z - a) * 40));
          const k = locate(at, "after");
          add(at, k, curveAt(curve, k, at));
        }
      });
      if (curve.i.length === 1 || !span) d = `M0 13L${width} 13`;
      line.setAttribute("d", d);
    };
    sparks.push({ draw, now, width });
    return root;
  }

  function search() {
    const wanted = $("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rowTable.rows.forEach((row, r) => {
      const text = rowTable.columns.map((column) => (column.text ? column.text(r) : "")).join("\n").toLowerCase();
      const hit = wanted.every((word) => text.includes(word));
      row.hidden = !hit;
      shown += hit;
    });
    const count = rowTable.rows.length;
    $("found").textContent = wanted.length ? `${shown} of ${count} rows shown` : "";
  }

  function choose(i) {
    state.row = state.row === i ? -1 : i;
    rowTable.rows.forEach((row, r) => row.classList.toggle("chosen", data.table.rows[r] === state.row));
    if (field) field.update();
  }

  // ------------------------------------------------------------------ jumps

  let jumpTable = null;
  function buildJumps() {
    const { jumps } = data;
    $("jump-text").textContent = jumps.length
      ? `The path is discontinuous here: the objective falls and some ${data.noun}s change sides. Click one to go there.`
      : "None.";
    if (!jumps.length) return;
    jumpTable = new Sorted($("jump-list"), [
      { title: `at ${data.parameter}`, key: (r) => sign * jumps[r].t, cell: (r) => el("button", { type: "button", class: "link", onclick: (event) => { event.stopPropagation(); toJump(r); } }, format(jumps[r].t, 7)) },
      { title: "flipped", numeric: true, key: (r) => jumps[r].count, cell: (r) => String(jumps[r].count) },
      { title: "objective falls by", numeric: true, key: (r) => jumps[r].fall, cell: (r) => (jumps[r].moved ? format(jumps[r].fall, 3) : "nothing moved") },
    ], jumps.length, toJump);
  }

  function showJump() {
    const box = $("jump");
    const j = jumpAt(state.t);
    $("side").hidden = j < 0;
    for (const button of $("side").children) button.setAttribute("aria-pressed", String(button.dataset.side === state.side));
    document.querySelectorAll("g.jump.on").forEach((g) => g.classList.remove("on"));
    if (j >= 0) document.querySelectorAll(`g.jump[data-jump="${j}"]`).forEach((g) => g.classList.add("on"));
    if (jumpTable) jumpTable.rows.forEach((row, r) => row.classList.toggle("chosen", r === j));
    if (j === state.jump) return;
    state.jump = j;
    box.hidden = j < 0;
    if (j < 0) return;
    const jump = data.jumps[j];
    const row = (name, before, after) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, before), el("td", { class: "n" }, after));
    const body = [row("objective", format(jump.before, 9), format(jump.after, 9))];
    const sizes = charts.find((chart) => chart.spec.kind === "sizes");
    const k = locate(jump.t, "before");
    data.pieces.forEach((name, p) => {
      if (sizes.used[p]) body.push(row(name, String(sizes.spec.values[k][p]), String(sizes.spec.values[jump.k][p])));
    });
    const flips = jump.flipped.map(([name, from, to]) => {
      const way = from === null || to === null || from === to ? "" : `: ${data.pieces[from]} → ${data.pieces[to]}`;
      return el("div", {}, `${data.noun} ${name}${way}`);
    });
    if (jump.count > flips.length) flips.push(el("div", {}, `and ${jump.count - flips.length} more`));
    box.replaceChildren(
      el("b", {}, `Jump at ${data.parameter} = ${format(jump.t, 9)}`),
      el("table", {}, el("thead", {}, el("tr", {}, el("th"), el("th", { class: "n" }, "before"), el("th", { class: "n" }, "after"))), el("tbody", {}, ...body)),
      el("p", {}, `${jump.count} flipped${jump.moved ? "" : " (a relabelling, nothing moved)"}:`),
      el("div", { class: "flips small", tabindex: "0" }, ...flips),
    );
  }

  function toJump(j) {
    moveTo(data.jumps[j].t, "after");
  }

  // ------------------------------------------------------------------ moving

  let waiting = false;
  function moveTo(t, side) {
    const low = Math.min(first, last);
    const high = Math.max(first, last);
    state.t = Math.min(Math.max(t, low), high);
    state.side = side;
    state.k = locate(state.t, side);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  }

  function update() {
    const { t, k } = state;
    const x = axis.to(t, axis === axes.even ? k : undefined);
    const slider = $("slider");
    const at = String(Math.round(x * Number(slider.max)));
    if (slider.value !== at) slider.value = at;
    if (document.activeElement !== $("t")) write(t);
    showJump();
    for (const chart of charts) chart.update();
    if (field) field.update();
    for (const each of live) each(k, t);
    for (const one of sparks) {
      one.now.setAttribute("x1", one.width * x);
      one.now.setAttribute("x2", one.width * x);
    }
    if (rowTable.by && /here$/.test(rowTable.columns[rowTable.by.c].title)) rowTable.arrange();
    if ($("search").value) search();
    const said = [];
    if (data.reading) said.push(`${data.reading.name} ${format(reading(t), 4)}`);
    for (const chart of charts) {
      if (chart.spec.kind === "sizes") continue;
      if (chart.current !== null) said.push(`${chart.spec.kind === "line" ? "held-out loss" : chart.spec.title} ${format(chart.current, 7)}`);
    }
    $("now").textContent = said.join(" · ");
    slider.setAttribute("aria-valuetext", `${data.parameter} = ${format(t, 6)}; ${said.join("; ")}`);
    const here = breakpointsAround(t, state.side);
    $("back").disabled = here.back === null;
    $("forth").disabled = here.forth === null;
    $("jump-back").disabled = !data.jumps.some((jump) => sign * jump.t < sign * t);
    $("jump-forth").disabled = !data.jumps.some((jump) => sign * jump.t > sign * t);
  }

  // Write t into its field: as many digits as can be read; pointing at it shows all of them.
  function write(t) {
    $("t").value = String(Number(t.toPrecision(8)));
    $("t").title = String(t);
  }

  // t on the other scale of the page, 0 at its `start` and 1 at its `end`.
  function reading(t) {
    const { start, end } = data.reading;
    return start === end ? 0 : Math.min(1, Math.max(0, (t - start) / (end - start)));
  }

  function breakpointsAround(t, side) {
    let forth = null;
    for (let k = locate(t, "after"); k < K && forth === null; k += 1) {
      if (sign * data.stop[k] > sign * t) forth = data.stop[k];
    }
    let back = null;
    for (let k = locate(t, "before"); k >= 0 && back === null; k -= 1) {
      if (sign * data.start[k] < sign * t) back = data.start[k];
    }
    return { back, forth, side };
  }

  function step(way) {
    const place = breakpointsAround(state.t, state.side)[way];
    if (place !== null) moveTo(place, "after");
  }

  function jumpStep(way) {
    const ahead = data.jumps.filter((jump) => way * sign * jump.t > way * sign * state.t);
    if (ahead.length) moveTo(ahead[way > 0 ? 0 : ahead.length - 1].t, "after");
  }

  let playing = null;
  function play() {
    if (playing !== null) {
      cancelAnimationFrame(playing);
      playing = null;
      $("play").textContent = "play";
      return;
    }
    let x = axis.to(state.t);
    if (x >= 1) x = 0;
    let then = performance.now();
    const tick = (now) => {
      x = Math.min(1, x + (now - then) / 8000);
      then = now;
      moveTo(placed(x), "after");
      playing = x < 1 ? requestAnimationFrame(tick) : null;
      if (playing === null) $("play").textContent = "play";
    };
    $("play").textContent = "stop";
    playing = requestAnimationFrame(tick);
  }

  function drawTicks() {
    const root = $("ticks");
    root.replaceChildren();
    const width = root.clientWidth;
    // The middle of the thumb, not its edge, is at the end of the rail.
    const inset = 8;
    drawJumps(root, (t, k) => inset + axis.to(t, k) * (width - 2 * inset), 10, 12, true);
    if (data.mark) {
      const x = inset + axis.to(data.mark.t) * (width - 2 * inset);
      root.append(svg("path", { d: `M${x} 0L${x + 4} 5L${x} 10L${x - 4} 5Z`, fill: "var(--c2)" }));
    }
  }

  function draw() {
    for (const chart of charts) chart.draw();
    if (field) field.draw();
    for (const one of sparks) one.draw();
    drawTicks();
    update();
  }

  // ------------------------------------------------------------------ the page

  const minus = (text) => text.replace(/(^|\s)-(?=\d)/g, "$1−");
  $("facts").append(...data.facts.map((fact) => el("span", {}, minus(fact))));
  $("t-label").textContent = `${data.parameter} =`;
  $("from").textContent = format(first, 6);
  $("to").textContent = format(last, 6);
  $("slider").setAttribute("aria-label", data.parameter);
  const kinds = ["linear", ...(first > 0 && last > 0 && span ? ["log"] : []), "even"];
  for (const kind of kinds) $("axis").append(el("option", { value: kind }, axes[kind].name));
  $("axis").value = data.log ? "log" : "linear";
  for (const spec of data.charts) charts.push(new Chart(spec));
  if (data.field) field = new Field(data.field);
  buildRows();
  buildJumps();
  $("certificate-words").append(el("span", { class: `verdict${data.certificate.ok ? "" : " bad"}` }, `${data.certificate.verdict} `), data.certificate.words);
  if (data.certificate.ok === null) $("how-words").textContent = "To check it, where you have the path:";
  $("how").textContent = data.certificate.how;
  if (data.certificate.checks.length) {
    const { checks } = data.certificate;
    new Sorted($("checks"), [
      { title: "condition", cell: (r) => checks[r].words || checks[r].name },
      { title: "checked", numeric: true, cell: (r) => String(checks[r].count) },
      { title: "largest error", numeric: true, cell: (r) => (checks[r].ok ? checks[r].worst : `${checks[r].worst} FAILS`) },
      { title: `at ${data.parameter}`, numeric: true, cell: (r) => format(checks[r].t, 6) },
    ], checks.length);
  } else document.querySelector("#certificate details").hidden = true;
  $("notes").append(...data.notes.map((note) => el("p", {}, minus(note))));
  if (data.mark) {
    $("home").hidden = false;
    $("home").textContent = data.mark.text;
    $("home").addEventListener("click", () => moveTo(data.mark.t, data.mark.side));
  }
  // With nothing beside them, the charts take the full width.
  document.querySelector("main").classList.toggle("alone", !data.field && !data.jumps.length);
  if (!data.jumps.length) {
    $("jump-back").hidden = true;
    $("jump-forth").hidden = true;
  }
  const slider = $("slider");
  if (!span) {
    for (const id of ["slider", "play", "axis"]) $(id).disabled = true;
  }
  slider.addEventListener("input", () => moveTo(placed(Number(slider.value) / Number(slider.max)), "after"));
  slider.addEventListener("keydown", (event) => {
    const small = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (small) moveTo(placed(Number(slider.value) / Number(slider.max) + small / (event.shiftKey ? 2000 : 250)), "after");
    else if (event.key === "PageDown") step("forth");
    else if (event.key === "PageUp") step("back");
    else if (event.key === "Home") moveTo(first, "before");
    else if (event.key === "End") moveTo(last, "after");
    else return;
    event.preventDefault();
  });
  $("t").addEventListener("change", () => {
    const text = $("t").value.trim().replace("−", "-").replace(",", ".");
    if (text !== "" && Number.isFinite(Number(text))) moveTo(Number(text), "after");
    write(state.t);
  });
  $("t").addEventListener("blur", () => { write(state.t); });
  $("play").addEventListener("click", play);
  $("back").addEventListener("click", () => step("back"));
  $("forth").addEventListener("click", () => step("forth"));
  $("jump-back").addEventListener("click", () => jumpStep(-1));
  $("jump-forth").addEventListener("click", () => jumpStep(1));
  $("axis").addEventListener("change", () => {
    axis = axes[$("axis").value];
    draw();
  });
  for (const button of $("side").children) {
    button.addEventListener("click", () => moveTo(state.t, button.dataset.side));
  }
  state.k = locate(state.t, state.side);
  if (data.mark) {
    state.t = data.mark.t;
    state.side = data.mark.side;
    state.k = locate(state.t, state.side);
  }
  draw();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    draw();
  });
})();
