// What an operator looks at: /stats and /alerts once a second. The banner is whatever /alerts fires.
import {$, ask, bytes, count, el, moment, percent, repeat, svg} from "./dom.js";
import * as wall from "./wall.js";

const HISTORY = 60;     // seconds of verdicts
const FILTERS_MAX = 48; // shown, the newest
const VERDICTS = ["new", "duplicate", "conflict", "invalid", "ignored"];
let last = null;        // {at, feeds} of the look before
const history = [];     // verdicts per second
let lastAnswer = new Date(), announced = "";

export function start() {
  repeat(1000, look);
}

async function look() {
  try {
    const [stats, alerts] = await Promise.all([ask("/stats"), ask("/alerts")]);
    lastAnswer = new Date();
    state(stats);
    banner(alerts.alerts);
    never(stats.filter);
    rates(stats);
    filters(stats);
    rules(alerts.alerts);
  } catch {
    $("state").textContent = "▲ no answer";
    $("state").dataset.state = "silent";
    showBanner([{severity: "critical", name: "no answer", reason: `the daemon has not answered since ${lastAnswer.toLocaleTimeString()}`}]);
  }
}

function state(stats) {
  const up = stats.uptime_s, hours = Math.floor(up / 3600), minutes = Math.floor(up / 60) % 60;
  $("state").textContent = `${stats.state === "ready" ? "●" : "▲"} ${stats.state} · ${stats.version} · up ${hours ? `${hours} h ` : ""}${minutes} min ${Math.floor(up % 60)} s`;
  $("state").dataset.state = stats.state;
}

// --- the banner ------------------------------------------------------------------------------------

function banner(alerts) {
  showBanner(alerts.filter((alert) => alert.firing));
}

// Rewritten only when its rules change, so that a screen reader does not repeat it; the reasons are kept current.
function showBanner(firing) {
  const box = $("banner"), names = firing.map((alert) => alert.name).join();
  box.hidden = firing.length === 0;
  if (names !== announced) {
    announced = names;
    box.replaceChildren(...firing.map((alert) => el("p", {class: `alert ${alert.severity}`, "data-name": alert.name},
      el("b", {}, `${alert.severity === "critical" ? "▲ critical" : "◆ warning"}: ${alert.name.replaceAll("_", " ")}`), " ", el("span", {}, alert.reason))));
  } else {
    firing.forEach((alert, i) => { box.children[i].lastChild.textContent = alert.reason; });
  }
}

function rules(alerts) {
  $("rules").replaceChildren(...alerts.map((alert) => el("li", {class: alert.firing ? "firing" : ""},
    el("b", {}, `${alert.firing ? "▲" : "✓"} ${alert.name.replaceAll("_", " ")}`), ` ${alert.reason}`)));
}

// --- the counter that never moves ------------------------------------------------------------------

function never(filter) {
  const test = filter.self_test, asked = test.members_asked + filter.true_positive + filter.false_negative;
  const maybe = test.members_maybe + filter.true_positive, holds = filter.false_negative === 0 && test.members_asked === test.members_maybe;
  const part = (figure, text, kind) => el("p", {class: kind}, el("b", {}, figure), text);
  $("never").dataset.holds = holds;
  $("never").replaceChildren(
    part(count(asked), "members asked"), el("span", {class: "sign"}, asked === maybe ? "=" : "≠"), part(count(maybe), "answered maybe"),
    part(count(filter.false_negative), "false negatives", holds ? "zero" : "broken"),
    el("p", {class: "help"}, holds
      ? "A stored trade is never answered no: its bits were set, and nothing clears a bit. Members are the trades that came again, and stored ones asked at random."
      : "▲ A stored trade was answered no. That is a defect of memory, disk or program; the store's UNIQUE constraint still decides."));
}

// --- rates and figures -----------------------------------------------------------------------------

function rates(stats) {
  const at = stats.uptime_s, seconds = last && at > last.at ? at - last.at : null;
  const per_s = (name, verdict) => (seconds && last.feeds[name] ? Math.max(0, stats.feeds[name][verdict] - last.feeds[name][verdict]) / seconds : 0);
  const rows = Object.keys(stats.feeds).map((name) => [name, ...VERDICTS.map((verdict) => per_s(name, verdict))]);
  if (seconds) history.push(rows.flatMap((row) => row.slice(1)).reduce((a, b) => a + b, 0));
  if (history.length > HISTORY) history.shift();
  last = {at, feeds: stats.feeds};
  $("feeds").tHead.replaceChildren(el("tr", {}, ...["feed", ...VERDICTS].map((name) => el("th", {scope: "col"}, name))));
  $("feeds").tBodies[0].replaceChildren(...rows.map(([name, ...figures]) => el("tr", {}, el("th", {scope: "row"}, name),
    ...figures.map((figure) => el("td", {}, count(Math.round(figure)))))));
  tiles(stats);
}

function tiles(stats) {
  const {latency_ms: latency, store, filter, connections} = stats, ms = (n) => `${Number(Number(n).toPrecision(3))} ms`;
  const tile = (title, figure, text, extra = null) => el("div", {class: "tile"}, el("h3", {}, title), el("b", {}, figure), extra, el("p", {}, text));
  $("tiles").replaceChildren(
    tile("Verdicts per second", count(Math.round(history.at(-1) ?? 0)), `${count(stats.trades.unanswered)} unanswered · ${connections.open} connections`, spark()),
    tile("Acknowledged (median)", ms(latency.ack_p50), `99 in 100 within ${ms(latency.ack_p99)}, longest ${ms(latency.ack_max)}`),
    tile("Committed (median)", ms(latency.commit_p50), `99 in 100 within ${ms(latency.commit_p99)} · ${count(store.commits)} commits`),
    tile("Trades kept", count(store.rows), `since ${moment(store.window_start)} · ${store.segments} segments · ${bytes(store.bytes)}`),
    tile("Filters", bytes(filter.memory_bytes), `of memory for ${count(filter.keys)} of ${count(filter.capacity)} keys`),
    tile("False alarms", percent(filter.measured_fpr), `measured; expected ${percent(filter.expected_fpr)}, target ${percent(filter.target_fpr)}`));
}

function spark() {
  const most = Math.max(1, ...history), step = 120 / (HISTORY - 1);
  const d = history.map((n, i) => `${i ? "L" : "M"}${(i * step).toFixed(1)},${(26 - 24 * n / most).toFixed(1)}`).join("");
  return svg("svg", {viewBox: "0 0 120 28", class: "spark", "aria-hidden": "true"}, svg("path", {d}));
}

// --- fill of each filter ---------------------------------------------------------------------------

function filters(stats) {
  const sealed = stats.segments.filter((segment) => segment.state === "sealed").map((segment) => ({...segment, generation: null}));
  const all = [...sealed, ...stats.generations], shown = all.slice(-FILTERS_MAX), box = $("filters");
  while (box.children.length > shown.length) box.lastChild.remove();
  shown.forEach((filter, i) => {
    if (!box.children[i]) box.append(filterButton());
    const button = box.children[i], name = filter.generation === null ? "sealed" : `filter ${filter.generation}`;
    button.dataset.segment = filter.segment;
    button.dataset.generation = filter.generation ?? "";
    button.title = filter.segment;
    button.setAttribute("aria-pressed", Boolean(wall.sameFilter(filter.segment, filter.generation)));
    button.children[0].firstChild.style.width = `${100 * filter.fill_ratio}%`;
    button.children[1].textContent = `${name} · ${percent(filter.fill_ratio)}`;
  });
  $("filters-title").lastElementChild.textContent = all.length > shown.length
    ? `the newest ${shown.length} of ${count(all.length)}; press one to see it` : "each holds the keys of one stretch of trades; press one to see it";
}

function filterButton() {
  const button = el("button", {type: "button"}, el("i", {class: "fill"}, el("i")), el("span"));
  button.onclick = () => {
    if (button === button.parentElement.lastChild) wall.choose(); // the newest, whichever that becomes
    else wall.choose(button.dataset.segment, button.dataset.generation === "" ? null : Number(button.dataset.generation));
  };
  return button;
}
