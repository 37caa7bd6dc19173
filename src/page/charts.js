// Two charts on a logarithmic rate axis: the rate as a filter fills, and the sweep over positions.
// What a chart shows can be read as words below it and as a table.
import {$, ask, count, el, percent, question, repeat, svg, watched} from "./dom.js";
import * as wall from "./wall.js";

const W = 620, H = 320, LEFT = 64, RIGHT = 16, TOP = 14, BOTTOM = 40;
const LOW = 1e-7; // rates below it stand at the foot

export function start() {
  keep("/curve", $("rate-chart"), curve, 5000);
  keep("/sweep", $("sweep-chart"), sweep, 10000);
}

// Drawn anew while it is on the screen: every so often when the filter has grown, at once when it is another one.
function keep(path, box, chart, pause_ms) {
  const seen = watched(box.parentElement);
  let drawn = "", keys = -1, at = -Infinity;
  repeat(500, async () => {
    const filter = wall.current(), name = `${filter.segment}/${filter.generation}`, now = performance.now();
    if (name === drawn && (keys === filter.keys || now - at < pause_ms)) return;
    [drawn, at] = [name, now];
    keys = await draw(path, box, chart, filter);
  }, () => seen() && wall.current());
}

// Returns the number of keys that are drawn.
async function draw(path, box, chart, {segment, generation}) {
  try {
    const answer = await ask(question(path, {segment, generation}));
    const open = box.querySelector("details")?.open;
    box.replaceChildren(...chart(answer));
    if (open) box.querySelector("details").open = true;
    box.dataset.keys = answer.keys;
    return answer.complete ? answer.keys : -1;
  } catch (error) {
    box.replaceChildren(el("p", {class: "help"}, `Not to be had for this filter: ${error.message}`));
    return -1;
  }
}

const rateY = (p) => TOP + (H - TOP - BOTTOM) * Math.log10(Math.max(LOW, Math.min(1, p))) / Math.log10(LOW);
const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

function frame(label, ticks, ...inner) {
  const rates = [1, 0.01, 1e-4, 1e-6].flatMap((p) => [
    svg("line", {x1: LEFT, x2: W - RIGHT, y1: rateY(p), y2: rateY(p), class: "gridline"}),
    svg("text", {x: LEFT - 8, y: rateY(p) + 4, "text-anchor": "end"}, p === 1 ? "100 %" : p === 0.01 ? "1 %" : p === 1e-4 ? "0.01 %" : "1 in 10⁶")]);
  const below = ticks.flatMap(([x, text]) => [svg("text", {x, y: H - BOTTOM + 18, "text-anchor": "middle"}, text)]);
  return svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label}, ...rates, ...below, ...inner);
}

function upright(x, text, y, kind, anchor = "start") {
  return [svg("line", {x1: x, x2: x, y1: TOP, y2: H - BOTTOM, class: kind}),
    svg("text", {x: x + (anchor === "start" ? 5 : -5), y, "text-anchor": anchor, class: `note ${kind}`}, text)];
}

const legend = (...entries) => el("ul", {class: "entries"},
  ...entries.map(([kind, text]) => el("li", {}, el("i", {class: `sample ${kind}`}), text)));

function table(heads, rows) {
  return el("details", {}, el("summary", {}, "As a table"), el("div", {class: "scroll"}, el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", {scope: "col"}, head)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))))));
}

// --- the rate as it fills --------------------------------------------------------------------------

const predicted = (m, k, n) => (-Math.expm1(-k * n / m)) ** k;

function curve(c) {
  const most = 1.04 * Math.max(c.sized_for, c.keys), x = (n) => LEFT + (W - LEFT - RIGHT) * n / most;
  const points = c.points, shape = [...Array(101).keys()].map((i) => i * most / 100);
  const band = points.length ? line([...points.map((p) => [x(p.keys), rateY(p.high)]), ...points.toReversed().map((p) => [x(p.keys), rateY(p.low)])]) + "Z" : "";
  const last = points.at(-1);
  return [
    frame("Rate of maybe for strangers against the number of keys", [0, 0.25, 0.5, 0.75, 1].map((q) => [x(q * c.sized_for), count(Math.round(q * c.sized_for))]),
      svg("path", {class: "band", d: band}),
      svg("path", {class: "maths", d: line(shape.map((n) => [x(n), rateY(predicted(c.bits, c.hashes, n))]))}),
      svg("path", {class: "screen", d: line(points.map((p) => [x(p.keys), rateY(p.screen_predicted)]))}),
      ...points.map((p) => svg("circle", {class: p.maybe ? "dot" : "dot none", cx: x(p.keys), cy: rateY(p.measured), r: 2.6})),
      ...upright(x(c.sized_for), "sized for", TOP + 12, "sized", "end"),
      ...(c.first_maybe ? upright(x(c.first_maybe), `first maybe at ${count(c.first_maybe)}`, H - BOTTOM - 8, "first", x(c.first_maybe) > W / 2 ? "end" : "start") : []),
      svg("line", {x1: LEFT, x2: W - RIGHT, y1: rateY(c.screen.target), y2: rateY(c.screen.target), class: "target"}),
      svg("text", {x: LEFT + 6, y: rateY(c.screen.target) - 5, class: "note"}, `target of the whole screen, ${percent(c.screen.target)}`),
      svg("text", {x: W - RIGHT, y: H - 4, "text-anchor": "end"}, "keys in this filter")),
    legend(["maths", "mathematics, this filter"], ["dot", "measured (hollow: none of the strangers)"], ["band", "95 % Wilson interval"], ["screen", "mathematics, whole screen"]),
    el("p", {class: "figure"}, last
      ? `At ${count(last.keys)} keys: measured ${percent(last.measured)} (${count(last.maybe)} of ${count(c.strangers)}; ${percent(last.low)} to ${percent(last.high)}), mathematics ${percent(last.predicted)}. `
      : "No keys yet. ",
    c.first_maybe ? `The first stranger was answered maybe at ${count(c.first_maybe)} keys of the ${count(c.sized_for)} it is sized for. ` : "No stranger has been answered maybe yet. ",
    `Whole screen: the traffic measured ${percent(c.screen.measured)} (${percent(c.screen.low)} to ${percent(c.screen.high)}), to be held against ${percent(c.screen.expected)} expected.`),
    table(["keys", "measured", "low", "high", "mathematics"], points.map((p) => [count(p.keys), ...[p.measured, p.low, p.high, p.predicted].map(percent)])),
  ];
}

// --- the sweep -------------------------------------------------------------------------------------

function sweep(s) {
  const most = s.points.at(-1).hashes, x = (k) => LEFT + (W - LEFT - RIGHT) * (k - 0.5) / most;
  const used = s.points.find((p) => p.in_use), least = s.points.find((p) => p.hashes === s.minimum.predicted);
  const every = Math.ceil(most / 16);
  const diamond = (k, y) => `M${x(k)},${y - 8}l8,8l-8,8l-8,-8Z`;
  return [
    frame("Rate of maybe for strangers against positions a key", s.points.filter((p) => p.hashes % every === 0 || p.hashes === 1).map((p) => [x(p.hashes), p.hashes]),
      ...s.points.map((p) => svg("line", {class: "whisker", x1: x(p.hashes), x2: x(p.hashes), y1: rateY(p.low), y2: rateY(p.high)})),
      svg("path", {class: "maths", d: line(s.points.map((p) => [x(p.hashes), rateY(p.predicted)]))}),
      ...s.points.map((p) => svg("circle", {class: p.maybe ? "dot" : "dot none", cx: x(p.hashes), cy: rateY(p.measured), r: 3.4})),
      ...(used ? upright(x(used.hashes), `in use: ${used.hashes}`, H / 2, "sized", used.hashes > most / 2 ? "end" : "start") : []),
      ...(least ? [svg("path", {class: "least", d: diamond(least.hashes, rateY(least.predicted))}),
        svg("text", {class: "note", x: x(least.hashes), y: rateY(least.predicted) - 14,
          "text-anchor": least.hashes > most - 3 ? "end" : least.hashes < 3 ? "start" : "middle"}, `lowest: ${least.hashes}`)] : []),
      svg("text", {x: W - RIGHT, y: H - 4, "text-anchor": "end"}, "positions a key")),
    legend(["maths", "mathematics"], ["dot", "measured (hollow: none of the strangers)"], ["band", "95 % Wilson interval"], ["least", "lowest rate"]),
    el("p", {class: "figure"}, `With its ${count(s.keys_read)} keys of now the mathematics is lowest at ${s.minimum.predicted}, the measurement (${count(s.points.find((p) => p.hashes === s.minimum.measured)?.maybe)} of ${count(s.strangers)} strangers) at ${s.minimum.measured} positions; ` +
      `${used ? `in use are ${used.hashes}, which is best once the filter is full.` : "the number in use is not among these."}`),
    table(["positions", "bits set", "measured", "low", "high", "mathematics"],
      s.points.map((p) => [`${p.hashes}${p.in_use ? " (in use)" : ""}`, percent(p.fill_ratio), ...[p.measured, p.low, p.high, p.predicted].map(percent)])),
  ];
}
