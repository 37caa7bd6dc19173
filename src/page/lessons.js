// Lessons on toy walls: each is a list of steps that can be stepped, played and scrubbed. No live data.
import {$, count, el, percent} from "./dom.js";
import {Toy, sizedFor} from "./toy.js";

const STRANGERS = 4000; // asked at each step of a filling wall
const PLAY_MS = 12000;  // a whole filling wall
const SLOW_MS = 2500;   // a step of the ten bits

// --- the ten-bit table -----------------------------------------------------------------------------

const LETTERS = {A: [1, 4], B: [4, 7], C: [1, 7], D: [1, 9]};

// A toy of ten bits with the letters stored, and who set what.
function ten(stored, cleared = []) {
  const toy = new Toy(10, 2), labels = {};
  for (const letter of stored) {
    toy.addAt(LETTERS[letter]);
    for (const bit of LETTERS[letter]) labels[bit] = (labels[bit] ?? "") + letter;
  }
  for (const bit of cleared) toy.set[bit] = 0;
  return {toy, labels};
}

function tenAsk(letter, stored, cleared, note) {
  const state = ten(stored, cleared), zero = LETTERS[letter].find((bit) => !state.toy.set[bit]);
  return {...state, lit: LETTERS[letter], answer: zero === undefined ? "maybe" : "no", zero, note};
}

const table = [
  {...ten(""), lit: [], note: "Ten bits, all of them 0. Every key has two positions among them."},
  {...ten("A"), lit: LETTERS.A, note: "A is stored: bits 1 and 4 become 1."},
  {...ten("AB"), lit: LETTERS.B, note: "B is stored: bits 4 and 7. Bit 4 is 1 already and stays so; two keys share it now."},
  tenAsk("A", "AB", [], "Is A stored? Bits 1 and 4 are 1: maybe. A stored key is always answered maybe."),
  tenAsk("C", "AB", [], "Is C stored? Bits 1 and 7 are 1: maybe. But A set bit 1 and B set bit 7; C was never here. A false alarm: only the exact store can tell."),
  tenAsk("D", "AB", [], "Is D stored? Bit 1 is 1, but bit 9 is 0. Had D been stored, it would be 1. Absent, and proven."),
];

const forgetting = [
  {...ten("AB"), lit: [], note: "A and B are stored: bits 1, 4 and 7 are 1. Now A is to be forgotten."},
  {...ten("AB", [1, 4]), lit: LETTERS.A, note: "Its bits 1 and 4 are cleared, as if they were A's alone."},
  tenAsk("A", "AB", [1, 4], "Is A stored? Bit 1 is 0: absent, as was wanted."),
  {...tenAsk("B", "AB", [1, 4]), answer: "lost", note: "Is B stored? Bit 4 is 0: NO, though B is stored. It is lost, and the promise with it. " +
    "So a filter never clears a bit: what is forgotten is forgotten with its whole filter."},
];

// --- filling walls ---------------------------------------------------------------------------------

// Step i has i keys; the words of the last step are the lesson.
function filling(bits, hashes, keys, end) {
  const sized = sizedFor(bits, hashes);
  return Array.from({length: keys + 1}, (_, n) => () => {
    const toy = new Toy(bits, hashes, 16);
    for (let key = 0; key < n; key++) toy.add(key);
    let members = 0;
    for (let key = 0; key < n; key++) members += toy.maybe(key);
    const note = n === keys ? end : n === 0 ? `${count(bits)} bits, ${hashes} positions a key: best up to ${sized} keys, when half of the bits are 1.`
      : `Key ${n} ${n > sized ? `of the ${sized} that it is sized for` : "comes"}: its ${hashes} positions become 1, or are already.`;
    return {toy, lit: n ? toy.positions(n - 1) : [], note, sized, members, measured: toy.measured(STRANGERS)};
  });
}

const LESSONS = [
  {name: "ten", title: "Ten bits", columns: 10, steps: table},
  {name: "overfull", title: "180 keys on a wall for 118", columns: 32, steps: filling(512, 3, 180,
    "Half as many keys again as it is sized for, and more than twice the false alarms. Not one stored key is denied: a filter that is too full wastes look-ups, never a trade.")},
  {name: "nine", title: "Nine positions", columns: 32, steps: filling(512, 9, 180,
    "The same wall and keys, nine positions a key in place of three: nearly every bit is 1, and most strangers are answered maybe. More positions are better only while there is room.")},
  {name: "useless", title: "400 keys on a wall for 59", columns: 32, steps: filling(256, 3, 400,
    "With these keys every bit is 1 (on average two or three of 256 would be left). It says maybe to everything, and still keeps its promise to every stored key; it is just of no use any more.")},
  {name: "forgetting", title: "Why nothing is cleared", columns: 10, steps: forgetting},
];

// --- the player ------------------------------------------------------------------------------------

let lesson = LESSONS[0], at = 0, playing = null;

export function start() {
  $("lesson-list").replaceChildren(...LESSONS.map((each) => el("button", {type: "button", "data-lesson": each.name,
    onclick: () => open(each)}, each.title)));
  $("lesson-first").onclick = () => { pause(); show(0); };
  $("lesson-back").onclick = () => { pause(); show(at - 1); };
  $("lesson-next").onclick = () => { pause(); show(at + 1); };
  $("lesson-play").onclick = () => (playing ? pause() : play());
  $("lesson-scrub").oninput = (event) => { pause(); show(Number(event.target.value)); };
  open(LESSONS[0]);
}

function open(next) {
  pause();
  lesson = next;
  for (const button of $("lesson-list").children) button.setAttribute("aria-pressed", button.dataset.lesson === next.name);
  $("lesson-scrub").max = next.steps.length - 1;
  const bits = stepAt(0).toy.bits, large = bits <= 16;
  $("lesson-wall").className = large ? "toy large" : "toy";
  $("lesson-wall").style.setProperty("--columns", next.columns);
  $("lesson-wall").replaceChildren(...Array.from({length: bits}, (_, bit) => el("div", {},
    ...(large ? [el("small", {}, String(bit)), el("b"), el("span")] : []))));
  show(0);
}

function play() {
  if (at === lesson.steps.length - 1) show(0);
  const pause_ms = Math.min(SLOW_MS, PLAY_MS / lesson.steps.length * (lesson.columns === 10 ? 2 : 1));
  playing = setInterval(() => {
    show(at + 1);
    if (at === lesson.steps.length - 1) pause();
  }, pause_ms);
  $("lesson-play").textContent = "❚❚ pause";
}

function pause() {
  clearInterval(playing);
  playing = null;
  $("lesson-play").textContent = "▶ play";
}

function stepAt(i) {
  const step = lesson.steps[i];
  return typeof step === "function" ? step() : step;
}

function show(i) {
  at = Math.max(0, Math.min(lesson.steps.length - 1, i));
  const step = stepAt(at), {toy} = step;
  $("lesson-scrub").value = at;
  $("lesson-step").textContent = `step ${at} of ${lesson.steps.length - 1}`;
  [...$("lesson-wall").children].forEach((cell, bit) => {
    cell.className = `${toy.set[bit] ? "set" : "unset"}${step.lit.includes(bit) ? " lit" : ""}`;
    if (!step.labels) return;
    cell.children[1].textContent = toy.set[bit];
    cell.children[2].textContent = step.labels[bit] ?? "";
  });
  $("lesson-note").textContent = step.note;
  $("lesson-answer").textContent = !step.answer ? "" : step.answer === "maybe" ? "◆ MAYBE: all positions are 1"
    : step.answer === "no" ? `○ NO: bit ${step.zero} is 0` : `▲ NO, and that is wrong: bit ${step.zero} is 0`;
  $("lesson-answer").className = step.answer ?? "";
  $("lesson-figures").textContent = step.sized === undefined ? "" :
    `${count(toy.keys)} keys, sized for ${step.sized} · ${toy.ones} of ${toy.bits} bits are 1 · stored keys answered maybe: ${step.members} of ${toy.keys} · ` +
    `strangers answered maybe: measured ${percent(step.measured)}, mathematics ${percent(toy.predicted)}`;
  Object.assign($("lesson").dataset, {lesson: lesson.name, step: at, keys: toy.keys, ones: toy.ones, answer: step.answer ?? "",
    members: step.members ?? "", measured: step.measured ?? "", predicted: toy.predicted});
}
