// Elements, numbers and questions to the daemon. Text goes in as text nodes only, never as markup.

export const $ = (id) => document.getElementById(id);

export const calm = matchMedia("(prefers-reduced-motion: reduce)");

// el("p", {class: "x", onclick: f}, "text", child): strings become text nodes.
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const count = (n) => (n == null ? "–" : Number(n).toLocaleString("en-US"));

export function percent(p) {
  if (p == null) return "–";
  if (p !== 0 && p < 1e-6) return `${(100 * p).toExponential(1)} %`;
  const text = (100 * p).toPrecision(3);
  return `${p < 1 && Number(text) >= 100 ? "99.9+" : Number(text)} %`;
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; n >= 1024 && unit < 4; unit++) n /= 1024;
  return `${unit ? n.toFixed(1) : n} ${units[unit]}`;
}

// RFC 3339 as it stands, shortened to seconds.
export const moment = (text) => (text ? text.replace("T", " ").replace(/\.\d+Z$/, "Z") : "–");

// What the daemon answers; throws with its own words when that is an error.
export async function ask(path, signal) {
  const response = await fetch(path, {signal, cache: "no-store"});
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `status ${response.status}`);
  return answer;
}

// Not URLSearchParams: there a space is +, and to the daemon a plus is a plus.
export const question = (path, members) => `${path}?${Object.entries(members)
  .filter(([, value]) => value !== null && value !== undefined)
  .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;

// Calls step again and again, a pause after each end; not while the page is hidden or wanted() says no.
export function repeat(pause_ms, step, wanted = () => true) {
  const round = async () => {
    try {
      if (!document.hidden && wanted()) await step();
    } catch { /* the next round asks again; main.js says when the daemon is silent */ }
    setTimeout(round, pause_ms);
  };
  round();
}

// A function that tells whether the element is on the screen.
export function watched(element) {
  let visible = false;
  new IntersectionObserver(([entry]) => { visible = entry.isIntersecting; }).observe(element);
  return () => visible;
}
