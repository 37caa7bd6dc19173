// The wall: a window [from, to) of one filter's bits as cells, row by row. A cell is one bit where the window
// fits, else a block of bits, the brighter the more are 1. In a window of at most 4,096 bits /owners
// tells who set each first. What has become 1 since the last look glows for a second.
import {$, ask, calm, count, el, percent, question, repeat} from "./dom.js";

const OWNED_MAX = 4096; // bits, of /owners
const CELLS_MAX = 65536; // of /bits
const SMALLEST_PX = 4, LARGEST_PX = 40;
const WINDOW_MIN = 128; // bits
const GLOW_MS = 1200;
const PANEL = [16, 21, 29], ZERO = [27, 35, 47], ONE = [124, 199, 255], NEW = [255, 210, 122];

const canvas = $("wall"), readout = $("readout");
let filter = null;                  // what Tradesieve-Filter said
let chosen = {};                    // {segment, generation}; empty: the newest
let view = {from: 0, to: null};     // to null: the whole filter
let cells = null, blocks = null;    // bits set of each cell; their window {from, to, cells}
let owners = new Map();             // bit -> owner, of single bits
let ownersView = "";
let glow = null, glowEnds = 0;      // 1 for a cell that has just changed
let grid = {size: SMALLEST_PX, columns: 1, rows: 1};
let cursor = 0;                     // cell
let asking = null;                  // AbortController
let onRedraw = () => {}, onOwner = () => {};

export const current = () => filter;
export const ownersShown = () => [...owners.values()];

export function start(redrawn, ownerAsked) {
  onRedraw = redrawn;
  onOwner = ownerAsked;
  listen();
  new ResizeObserver(() => load()).observe(canvas.parentElement);
  repeat(1000, async () => { if (!asking && (!filter || filter.growing || ownersWanted())) await load(); });
}

// Shows another filter; resolves once it is drawn.
export function choose(segment, generation) {
  chosen = {segment, generation};
  view = {from: 0, to: null};
  cells = null;
  return load();
}

export function sameFilter(segment, generation) {
  return filter && filter.segment === segment && filter.generation === generation;
}

// A window of w bits around one of them; resolves once it is drawn.
export function zoomTo(bit, w) {
  const m = filter.bits;
  if (w >= m) view = {from: 0, to: null};
  else {
    const from = Math.min(Math.max(0, Math.round(bit - w / 2)), m - w);
    view = {from, to: from + w};
  }
  cells = null;
  return load();
}

const width = () => (blocks ? blocks.to - blocks.from : 0);
const single = () => blocks && width() === blocks.cells;

function layout(bits) {
  const box = canvas.parentElement.clientWidth, height = Math.min(Math.max(300, innerHeight * 0.52), 560);
  let size = SMALLEST_PX;
  while (size < LARGEST_PX && Math.floor(box / (size + 1)) * Math.floor(height / (size + 1)) >= bits) size++;
  const columns = Math.max(1, Math.floor(box / size));
  const most = Math.min(CELLS_MAX, columns * Math.floor(height / size));
  const n = Math.min(bits, most);
  return {size, columns, rows: Math.ceil(n / columns), cells: n};
}

async function load() {
  if (asking) asking.abort();
  const mine = asking = new AbortController();
  const before = performance.now();
  try {
    const guess = view.to === null ? filter?.bits ?? CELLS_MAX : view.to - view.from;
    let next = layout(guess), answer = await fetchBits(next, mine.signal, filter !== null);
    if (view.to === null && answer.filter.bits !== guess) {
      next = layout(answer.filter.bits);
      answer = await fetchBits(next, mine.signal, true);
    }
    take(answer, next);
    const fetched = performance.now();
    draw();
    canvas.dataset.fetchedMs = (fetched - before).toFixed(1);
    canvas.dataset.drawnMs = (performance.now() - fetched).toFixed(1);
    await loadOwners(mine.signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    $("wall-figures").textContent = error.gone && chosen.segment === undefined
      ? "Nothing stored yet: the first trade makes the first filter." : `No bits to show: ${error.message}`;
    if (error.gone) { chosen = {}; view = {from: 0, to: null}; filter = null; }
  } finally {
    if (asking === mine) asking = null;
  }
}

async function fetchBits(next, signal, sized) {
  const response = await fetch(question("/bits", {...chosen, from: view.from || null, to: view.to,
    cells: sized ? next.cells : null}), {signal, cache: "no-store"});
  if (!response.ok) { // sealed or expired meanwhile: the newest filter is next
    throw Object.assign(new Error((await response.json()).error), {gone: response.status === 404 || response.status === 400});
  }
  const head = JSON.parse(response.headers.get("Tradesieve-Filter"));
  const body = await response.arrayBuffer();
  return {filter: head, cells: body.byteLength === head.cells ? new Uint8Array(body) : words(body)};
}

function words(body) {
  const view16 = new DataView(body), out = new Uint16Array(body.byteLength / 2);
  for (let i = 0; i < out.length; i++) out[i] = view16.getUint16(2 * i, true);
  return out;
}

function take(answer, next) {
  const f = answer.filter;
  const same = cells && filter && filter.segment === f.segment && filter.generation === f.generation &&
    blocks.from === f.from && blocks.to === f.to && blocks.cells === f.cells;
  if (same && !calm.matches) {
    const now = performance.now();
    if (now > glowEnds) glow = new Uint8Array(f.cells);
    for (let i = 0; i < f.cells; i++) if (answer.cells[i] > cells[i]) { glow[i] = 1; glowEnds = now + GLOW_MS; }
  } else glowEnds = 0;
  if (!same) readout.textContent = "";
  filter = f;
  cells = answer.cells;
  blocks = {from: f.from, to: f.to, cells: f.cells};
  grid = {size: next.size, columns: next.columns, rows: Math.ceil(f.cells / next.columns)};
  cursor = Math.min(cursor, f.cells - 1);
}

const ownersWanted = () => single() && width() <= OWNED_MAX && ownersView === "";

async function loadOwners(signal) {
  const key = [filter.segment, filter.generation, blocks.from, blocks.to, filter.keys].join();
  if (!single() || width() > OWNED_MAX) { owners = new Map(); ownersView = ""; return; }
  if (key === ownersView) return;
  const answer = await ask(question("/owners", {segment: filter.segment, generation: filter.generation,
    from: blocks.from, to: blocks.to}), signal);
  owners = new Map(answer.owners.map((owner) => [owner.bit, owner]));
  ownersView = answer.complete ? key : "";
  if (answer.missing) readout.textContent = `▲ ${count(answer.missing)} bits are 0 that a stored key has: a defect`;
  draw();
}

// --- drawing ---------------------------------------------------------------------------------------

const mix = (a, b, t) => a.map((x, i) => Math.round(x + (b[i] - x) * t));

// A colour for each trade, as far as possible from that of the one before; brighter the more share the bit.
function hue(owner) {
  const h = (owner.seq * 137.508) % 360, l = 42 + 9 * Math.min(owner.trades - 1, 4);
  const a = 0.62 * Math.min(l, 100 - l) / 100;
  return [0, 8, 4].map((n) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}

function colourOf(i, fade) {
  const set = cells[i], from = cellStart(i), in_cell = cellStart(i + 1) - from;
  const owner = set && in_cell === 1 ? owners.get(from) : null;
  const colour = owner && owner.seq !== null ? hue(owner) : mix(ZERO, ONE, set / in_cell);
  return fade && glow[i] ? mix(colour, NEW, fade) : colour;
}

const cellStart = (i) => blocks.from + Math.floor(i * width() / blocks.cells);

export function cellOf(bit) {
  let i = Math.min(blocks.cells - 1, Math.floor((bit - blocks.from) * blocks.cells / width()));
  while (cellStart(i + 1) <= bit) i++;
  return i;
}

function draw() {
  if (!cells) return;
  const scale = devicePixelRatio || 1, {size, columns, rows} = grid;
  canvas.width = columns * size * scale;
  canvas.height = rows * size * scale;
  canvas.style.width = `${columns * size}px`;
  canvas.style.height = `${rows * size}px`;
  const context = canvas.getContext("2d");
  paintCells(context, scale);
  if (size >= 6) paintGaps(context, scale);
  if (size >= 9 && single()) paintSigns(context, scale);
  if (document.activeElement === canvas) paintCursor(context, scale);
  describe();
  onRedraw();
  if (performance.now() < glowEnds) requestAnimationFrame(draw);
}

function paintCells(context, scale) {
  const {columns, rows, size} = grid, image = new ImageData(columns, rows), pixels = image.data;
  const left = glowEnds - performance.now(), fade = left > 0 ? left / GLOW_MS : 0;
  for (let i = 0; i < blocks.cells; i++) {
    const [r, g, b] = colourOf(i, fade);
    pixels.set([r, g, b, 255], 4 * i);
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, columns * size * scale, rows * size * scale);
}

function paintGaps(context, scale) {
  const {columns, rows, size} = grid;
  context.fillStyle = `rgb(${PANEL})`;
  for (let x = 1; x <= columns; x++) context.fillRect((x * size - 1) * scale, 0, scale, rows * size * scale);
  for (let y = 1; y <= rows; y++) context.fillRect(0, (y * size - 1) * scale, columns * size * scale, scale);
}

// A zero is a small ring, a one a full square with the number of trades that share it.
function paintSigns(context, scale) {
  const {columns, size} = grid;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `${Math.round(size * 0.5 * scale)}px ui-monospace, monospace`;
  for (let i = 0; i < blocks.cells; i++) {
    const x = (i % columns + 0.5) * size * scale - scale / 2, y = (Math.floor(i / columns) + 0.5) * size * scale - scale / 2;
    const owner = owners.get(blocks.from + i);
    if (!cells[i]) {
      context.strokeStyle = "#46566c";
      context.lineWidth = scale;
      context.beginPath();
      context.arc(x, y, size * 0.16 * scale, 0, 7);
      context.stroke();
    } else if (owner?.trades > 1 && size >= 14) {
      context.fillStyle = "#0b0f15";
      context.fillText(owner.trades, x, y + scale);
    }
  }
}

function paintCursor(context, scale) {
  const {columns, size} = grid;
  context.strokeStyle = "#fff";
  context.lineWidth = 2 * scale;
  context.strokeRect((cursor % columns) * size * scale, Math.floor(cursor / columns) * size * scale, size * scale, size * scale);
}

function describe() {
  const w = width(), bar = $("window"), f = filter;
  $("wall-figures").textContent = `${f.segment}${f.generation === null ? ", sealed" : ` · filter ${f.generation}`} · ` +
    `${count(f.bits_set)} of ${count(f.bits)} bits are 1 (${percent(f.bits_set / f.bits)}) · ` +
    `${count(f.keys)} of ${count(f.sized_for)} keys · ${f.hashes} positions a key`;
  bar.style.left = `${100 * blocks.from / f.bits}%`;
  bar.style.width = `${100 * w / f.bits}%`;
  canvas.dataset.bitsSet = f.bits_set;
  canvas.dataset.width = w;
  canvas.dataset.owners = owners.size;
  $("legend").replaceChildren(...(single()
    ? [el("i", {class: "key zero"}), "0", el("i", {class: "key one"}), owners.size ? "1, coloured by the trade that set it first; its number: trades that share it" : "1"]
    : [el("i", {class: "key ramp"}), `a cell is ${count(Math.ceil(w / blocks.cells))} bits: none set to all set`]));
  $("zoom-out").disabled = $("whole").disabled = w === f.bits;
  $("back").disabled = blocks.from === 0;
  $("forward").disabled = blocks.to === f.bits;
  $("zoom-in").disabled = w <= WINDOW_MIN;
  if (!readout.textContent) tell(cursor);
}

function tell(i) {
  const from = cellStart(i), to = cellStart(i + 1), owner = owners.get(from);
  if (to - from > 1) readout.textContent = `bits ${count(from)} to ${count(to - 1)}: ${count(cells[i])} of ${count(to - from)} are 1`;
  else if (!cells[i]) readout.textContent = `bit ${count(from)} is 0`;
  else if (!owner) readout.textContent = `bit ${count(from)} is 1`;
  else if (owner.seq === null) readout.textContent = `bit ${count(from)} is 1, and no stored trade that was looked at set it`;
  else readout.textContent = `bit ${count(from)} is 1, set first by trade ${count(owner.seq)}, ${owner.key}; ` +
    `${owner.trades === 1 ? "no other trade has it" : `${count(owner.trades)} trades share it`}`;
}

// Where a bit is on the canvas, in CSS pixels; null outside the window.
export function place(bit) {
  if (!blocks || bit < blocks.from || bit >= blocks.to) return null;
  const i = cellOf(bit), {size, columns} = grid;
  return {x: canvas.offsetLeft + (i % columns + 0.5) * size, y: canvas.offsetTop + (Math.floor(i / columns) + 0.5) * size, size};
}

// --- hands -----------------------------------------------------------------------------------------

function cellAt(event) {
  const i = Math.floor(event.offsetY / grid.size) * grid.columns + Math.floor(event.offsetX / grid.size);
  return i >= 0 && i < blocks?.cells ? i : null;
}

const middle = () => Math.floor((blocks.from + blocks.to) / 2);
const zoom = (bit, w) => zoomTo(bit, Math.max(WINDOW_MIN, Math.round(w)));

function enter(i) {
  const owner = owners.get(cellStart(i));
  if (owner?.key) onOwner(owner.key);
  else if (width() > WINDOW_MIN) zoom(cellStart(i), width() / 8 > OWNED_MAX ? width() / 8 : 1024);
}

function shift(direction) {
  zoomTo(middle() + direction * width(), width());
}

function move(step) {
  cursor = Math.min(Math.max(0, cursor + step), blocks.cells - 1);
  tell(cursor);
  draw();
}

function listen() {
  const keys = {
    ArrowLeft: () => move(-1), ArrowRight: () => move(1),
    ArrowUp: () => move(-grid.columns), ArrowDown: () => move(grid.columns),
    Enter: () => enter(cursor), "+": () => zoom(cellStart(cursor), width() / 8), "=": () => zoom(cellStart(cursor), width() / 8),
    "-": () => zoom(middle(), width() * 8), Home: () => zoomTo(0, filter.bits),
    PageUp: () => shift(-1), PageDown: () => shift(1),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || !blocks || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  canvas.addEventListener("pointermove", (event) => { const i = cellAt(event); if (i !== null) tell(i); });
  canvas.addEventListener("click", (event) => {
    const i = cellAt(event);
    if (i === null) return;
    cursor = i;
    enter(i);
  });
  $("zoom-in").onclick = () => zoom(cellStart(cursor), width() / 8);
  $("zoom-out").onclick = () => zoom(middle(), width() * 8);
  $("single").onclick = () => zoom(cellStart(cursor), 1024);
  $("whole").onclick = () => zoomTo(0, filter.bits);
  $("back").onclick = () => shift(-1);
  $("forward").onclick = () => shift(1);
}
