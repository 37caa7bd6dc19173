// Asking for one key: arcs fly to its positions, and a card says what they prove.
//
//   1. /check: what the screen says and what SQLite knows, and the key's positions in each filter
//   2. the wall shows the filter that could not be ruled out, or, when all were, the one on the wall
//   3. /owners?at=: each position there, 0 or 1, and who set it first
import {$, ask, calm, count, el, moment, question, svg} from "./dom.js";
import * as wall from "./wall.js";

const HUNT_MAX = 400; // keys asked while looking for a false alarm
let positions = [];   // [{bit, set, seq, key, trades}] in the filter on the wall
let asked = 0;        // questions so far; an answer to an older one is dropped
let hunting = false;

export function start() {
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    askFor($("key").value);
  });
  $("try-member").onclick = tryMember;
  $("try-stranger").onclick = () => askFor(strangerKey());
  $("try-false").onclick = hunt;
}

export async function askFor(key) {
  const mine = ++asked;
  hunting = false;
  $("key").value = key;
  if (!key) return say("nothing", "Nothing asked", "Type a key as the replies and exports write it, or press one of the examples.");
  try {
    await answer(key, mine);
  } catch (error) {
    if (mine === asked) say("error", "▲ No answer", error.message);
  }
}

async function answer(key, mine) {
  const checked = await ask(question("/check", {key}));
  if (mine !== asked) return;
  if (!checked.filters.length) return say("no", "○ NO", "There is no filter yet: nothing has been stored.");
  const shown = await showFilterOf(checked);
  const receipts = await receiptsOf(shown, checked, mine);
  if (mine !== asked) return;
  positions = receipts;
  card(key, checked, shown, receipts);
  arcs(true);
  if (matchMedia("(max-width: 820px)").matches) $("card").scrollIntoView({behavior: calm.matches ? "auto" : "smooth", block: "nearest"});
}

// Puts the filter on the wall that decides, and returns what /check says of its segment.
async function showFilterOf(checked) {
  const candidate = checked.candidates[0], on_wall = wall.current();
  let {segment, generation} = candidate ?? on_wall ?? {};
  if (!checked.filters.some((f) => f.segment === segment)) {
    segment = checked.filters[0].segment;
    generation = undefined;
  }
  if (wall.sameFilter(segment, generation)) await wall.zoomTo(0, Infinity);
  else await wall.choose(segment, generation);
  return checked.filters.find((f) => f.segment === segment);
}

// The wall's bits may be a second older than the answer of /check: asked again while they disagree.
async function receiptsOf(shown, checked, mine) {
  const {segment, generation} = wall.current();
  for (let again = 0; ; again++) {
    const {owners} = await ask(question("/owners", {segment, generation, at: shown.positions.join(",")}));
    if (checked.screen === "absent" || owners.every((owner) => owner.set) || again === 3 || mine !== asked) return owners;
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

// --- the card --------------------------------------------------------------------------------------

function say(kind, title, text) {
  $("card").dataset.kind = kind;
  $("card").replaceChildren(el("h3", {}, title), el("p", {}, text));
  positions = [];
  arcs(false);
}

function card(key, checked, shown, receipts) {
  const maybe = checked.screen === "maybe", stored = checked.exact === "present";
  const kind = !maybe ? (stored ? "lost" : "no") : stored ? "stored" : "never";
  $("card").dataset.kind = kind;
  $("card").replaceChildren(
    el("p", {class: "asked"}, key),
    el("h3", {class: maybe ? "maybe" : "no"}, maybe ? "◆ MAYBE" : "○ NO"),
    el("p", {}, maybe ? `All ${receipts.length} positions are 1. That is circumstantial: other trades may have set them.` : zeroText(shown, receipts, checked)),
    ...verdict(kind, checked),
    el("h4", {}, kind === "never" ? "The receipts: who set each bit first" : "Its positions in this filter"),
    receiptList(receipts));
}

function zeroText(shown, receipts, checked) {
  const zero = receipts.find((receipt) => !receipt.set), others = checked.filters.length - 1;
  const bit = zero ? zero.bit : shown.positions[shown.zero];
  return `Bit ${count(bit)} is 0. Had this trade been stored here, it would be 1: a proof, and nothing was looked up.` +
    (others > 0 ? ` The filters of ${count(others)} other segment${others === 1 ? "" : "s"} have a zero of their own.` : "");
}

function verdict(kind, checked) {
  if (kind === "stored") {
    return [el("h3", {class: "yes"}, "■ Stored"),
      el("p", {}, `The exact store has it: trade ${count(checked.seq)}, received ${moment(checked.received)}.`)];
  }
  if (kind === "never") {
    return [el("h3", {class: "never-stored"}, "✕ Never stored"),
      el("p", {}, "The exact store does not have it: a false alarm. It cost one look-up, and no verdict.")];
  }
  if (kind === "lost") {
    return [el("h3", {class: "never-stored"}, "▲ Stored all the same"),
      el("p", {}, `The exact store has trade ${count(checked.seq)}. This must never happen: a false negative.`)];
  }
  return [];
}

function receiptList(receipts) {
  const item = (receipt) => el("li", {class: receipt.set ? "set" : "unset"},
    el("button", {type: "button", onclick: () => wall.zoomTo(receipt.bit, 1024), title: "show it on the wall"},
      receipt.set ? "■" : "○", ` bit ${count(receipt.bit)}`),
    receipt.set && receipt.key !== null
      ? el("span", {}, `trade ${count(receipt.seq)} `, el("button", {type: "button", class: "link", onclick: () => askFor(receipt.key)}, receipt.key))
      : el("span", {}, receipt.set ? "no stored trade that was looked at" : "0: nobody set it"));
  return el("ol", {class: "receipts"}, ...receipts.map(item));
}

// --- the arcs --------------------------------------------------------------------------------------

// From the question to each position, as far as it is in the window of the wall.
export function arcs(fly = false) {
  const layer = $("arcs"), box = layer.getBoundingClientRect();
  layer.setAttribute("viewBox", `0 0 ${Math.max(1, box.width)} ${Math.max(1, box.height)}`);
  layer.replaceChildren(...positions.flatMap((position, i) => {
    const at = wall.place(position.bit);
    return at ? arc(at, position, i, box.width, fly && !calm.matches) : [];
  }));
}

function arc({x, y, size}, {set, bit}, i, width, fly) {
  const start = width / 3, r = Math.max(6, size * 0.8), kind = set ? "set" : "unset";
  const path = svg("path", {class: `arc ${kind}${fly ? ` fly fly-${i % 8}` : ""}`, pathLength: 1, fill: "none",
    d: `M${start},0 Q${(start + x) / 2 + 60},${Math.min(0, y - 160)} ${x},${y - r}`});
  const mark = set ? svg("rect", {x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: "mark set"})
    : svg("circle", {cx: x, cy: y, r: r + 2, class: "mark unset"});
  mark.append(svg("title", {}, `bit ${count(bit)} is ${set ? 1 : 0}`));
  return [path, mark];
}

// --- examples --------------------------------------------------------------------------------------

// Ten letters of chance: no feed issues such a key.
function strangerKey() {
  return `NOBODY/NOTHING/${[...crypto.getRandomValues(new Uint8Array(10))].map((n) => String.fromCharCode(97 + n % 26)).join("")}`;
}

async function tryMember() {
  const filter = wall.current();
  if (!filter || !filter.keys) return say("nothing", "Nothing stored yet", "Send it some trades: tradesieve gen | tradesieve send");
  const from = Math.floor(Math.random() * Math.max(1, filter.bits - 200));
  try {
    const {owners} = await ask(question("/owners", {segment: filter.segment, generation: filter.generation,
      from, to: Math.min(filter.bits, from + 200)}));
    const known = owners.filter((owner) => owner.key !== null);
    if (known.length) await askFor(known[Math.floor(Math.random() * known.length)].key);
    else say("nothing", "Nobody there", "No stored trade has a bit in the stretch that was looked at; press again.");
  } catch (error) {
    say("error", "▲ No answer", error.message);
  }
}

// Strangers, one after the other, until one is answered maybe; pressed again, or another question asked: it ends.
async function hunt() {
  if (hunting) { hunting = false; return; }
  const mine = ++asked;
  hunting = true;
  for (let n = 1; n <= HUNT_MAX && hunting && mine === asked; n++) {
    const key = strangerKey();
    try {
      if ((await ask(question("/check", {key}))).screen === "maybe") return askFor(key);
    } catch (error) {
      hunting = false;
      return say("error", "▲ No answer", error.message);
    }
    if (n % 20 === 0 && mine === asked) say("nothing", "Hunting a false alarm", `${count(n)} strangers asked, all of them answered NO. Press again to end it.`);
  }
  if (mine === asked) {
    hunting = false;
    say("nothing", "No false alarm found", `Up to ${count(HUNT_MAX)} strangers were asked; every one was answered NO. The filter works.`);
  }
}
