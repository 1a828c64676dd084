/** Two charts: bars in groups, and a line. */

import { h, number, svg } from "./dom.js";

const ROW = 22;

/** Draw bars: `groups` are `[label, values]`, a value `{size, text}` for each series, without a bar if it has no size; the table behind it is for screen readers. */
export function bars(groups, series) {
  const most = Math.max(1, ...groups.flatMap(([, values]) => values.map(({ size }) => size ?? 0)));
  const list = h("div", { class: "bars", "aria-hidden": "true" });
  for (const [label, values] of groups) {
    const stack = h("div", { class: "stack" });
    values.forEach(({ size, text }, index) => {
      const bar = size === undefined ? null : h("div", { class: `bar s${index}` });
      if (bar) bar.style.width = `${(size / most) * 100}%`;
      stack.append(h("div", { class: `line${bar ? "" : " lost"}` }, ...[bar, h("span", {}, text)].filter(Boolean)));
    });
    list.append(h("div", { class: "group" }, h("span", { class: "name" }, label), stack));
  }
  const head = h("tr", {}, h("th", { scope: "col" }, "language"), ...series.map((name) => h("th", { scope: "col" }, name)));
  const rows = groups.map(([label, values]) => h("tr", {}, h("th", { scope: "row" }, label), ...values.map(({ text }) => h("td", {}, text))));
  const legend = h("p", { class: "legend" }, ...series.map((name, index) => h("span", {}, h("i", { class: `bar s${index}` }), name)));
  return [legend, list, h("div", { class: "for-readers" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)))];
}

/** Draw a line through points `[x, y]`, with what its axes are. */
export function line(points, label) {
  const [width, height] = [640, ROW * 6];
  const last = points.at(-1) ?? [1, 1];
  const top = Math.max(1e-9, ...points.map(([, y]) => y));
  const at = ([x, y]) => `${((x / (last[0] || 1)) * (width - 8) + 4).toFixed(1)},${(height - 4 - (y / top) * (height - 12)).toFixed(1)}`;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "curve" });
  drawn.append(svg("polyline", { points: points.map(at).join(" ") }));
  return h("figure", {}, drawn, h("figcaption", {}, label));
}
