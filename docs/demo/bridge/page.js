/** The page: owns the labels, and lets a worker measure and move them. */
import { expose } from '/pointsman/bridge.js';

const words =
  'points signal siding frog lever lock switch blade turnout crossing sleeper rail ballast tie-plate check-rail buffer platform junction main-line branch loop yard hump coupler bogie axle brake van tender boiler whistle lamp semaphore distant home starter token staff block interlocking cabin bell plunger relay track-circuit gauge gradient milepost cutting culvert viaduct'.split(
    ' ',
  );
const ways = [
  ['blocking', 'The worker blocks for each result, as if it called its own function.'],
  ['awaited', 'The worker awaits its results, many at once.'],
];

const $ = (id) => document.getElementById(id);
const stage = $('stage');
const labels = words.map((word) => {
  const label = document.createElement('span');
  label.textContent = word;
  stage.append(label);
  return label;
});

// Spread out; from here on only the worker moves them.
for (const [id, label] of labels.entries()) {
  const across = (id * 0.618) % 1;
  const down = (id + 0.5) / labels.length;
  const x = across * (stage.clientWidth - label.offsetWidth);
  const y = down * (stage.clientHeight - label.offsetHeight);
  label.style.transform = `translate(${x}px, ${y}px)`;
}

const view = { pointer: null, fast: false };

/** The functions that the worker may call. */
const api = {
  setUp: () => ({ count: labels.length }),
  frame() {
    const { left, top, width, height } = stage.getBoundingClientRect();
    const now = { left, top, width, height, pointer: view.pointer };
    return view.fast ? now : new Promise((resolve) => requestAnimationFrame(() => resolve(now)));
  },
  getBoundingClientRect(id) {
    const { x, y, width, height, left, right, top, bottom } = labels[id].getBoundingClientRect();
    return { x, y, width, height, left, right, top, bottom };
  },
  move(id, x, y) {
    labels[id].style.transform = `translate(${x}px, ${y}px)`;
  },
  report,
};

let worker;
let bridge;

function start(way) {
  bridge?.close();
  worker?.terminate();
  worker = new Worker(`worker.js?calls=${way}`, { type: 'module' });
  const mine = expose(worker, api);
  bridge = mine;
  mine.ready.catch((error) => {
    if (mine === bridge) complain(error.message);
  });
  $('way-note').textContent = ways.find(([name]) => name === way)[1];
}

function complain(text) {
  $('trouble').textContent = text;
  $('trouble').hidden = false;
}

// --- display ---

const history = [];
const maxRates = 60;

function report({ calls, milliseconds, waiting, longest }) {
  const rate = (1_000 * calls) / milliseconds;
  $('rate').textContent = Math.round(rate).toLocaleString('en');
  const micro = (1_000 * waiting) / calls;
  $('took').textContent = micro < 1_000 ? `${short(micro)} µs` : `${short(micro / 1_000)} ms`;
  history.push(rate);
  if (history.length > maxRates) history.shift();
  draw();
  if (blockedFor > 0 && longest > 500) {
    $('blocked').textContent =
      `The page was blocked for ${blockedFor} ms. One call of the worker waited ${Math.round(longest)} ms for its result, and the worker continued.`;
    blockedFor = 0;
  }
}

const short = (value) => (value < 10 ? value.toFixed(1) : Math.round(value));

function draw() {
  const top = Math.max(...history, 1);
  const points = history.map((rate, index) => {
    const x = 120 - (history.length - 1 - index) * (120 / (maxRates - 1));
    return `${x.toFixed(2)} ${(30 - (28 * rate) / top).toFixed(2)}`;
  });
  const line = `M${points.join('L')}`;
  const first = points[0].split(' ')[0];
  const [lineMark, areaMark] = ['.line', '.area'].map((name) => $('chart').querySelector(name));
  lineMark.setAttribute('d', line);
  areaMark.setAttribute('d', `${line}L120 32L${first} 32Z`);
}

let frames = 0;
let gap = 0;
let lastFrame = performance.now();
let lastShown = lastFrame;
requestAnimationFrame(function count(now) {
  frames++;
  gap = Math.max(gap, now - lastFrame);
  lastFrame = now;
  if (now - lastShown >= 1_000) {
    $('frames').textContent = Math.round((1_000 * frames) / (now - lastShown));
    $('gap').textContent = `${Math.round(gap)} ms`;
    frames = 0;
    gap = 0;
    lastShown = now;
  }
  requestAnimationFrame(count);
});

// --- controls ---

let blockedFor = 0;
$('block').addEventListener('click', () => {
  const began = performance.now();
  while (performance.now() - began < 1_000);
  blockedFor = Math.round(performance.now() - began);
});
$('size').addEventListener('input', ({ target }) => {
  stage.style.setProperty('--label-size', `${target.value}px`);
});
for (const input of document.querySelectorAll('[name=pace]')) {
  input.addEventListener('change', () => {
    view.fast = input.value === 'fast';
  });
}
stage.addEventListener('pointermove', ({ clientX, clientY }) => {
  view.pointer = { x: clientX, y: clientY };
});
for (const type of ['pointerleave', 'pointercancel']) {
  stage.addEventListener(type, () => {
    view.pointer = null;
  });
}

const isolated = typeof SharedArrayBuffer === 'function';
const first = isolated ? 'blocking' : 'awaited';
for (const [name] of ways) {
  const label = document.createElement('label');
  const input = Object.assign(document.createElement('input'), {
    type: 'radio',
    name: 'way',
    value: name,
    checked: name === first,
    disabled: !isolated && name !== 'awaited',
  });
  input.addEventListener('change', () => start(name));
  label.append(input, ` ${name}`);
  $('ways').append(label);
}
if (!isolated) {
  complain(
    'This page has no shared memory, so the worker cannot block. Serve it with serve.js, which sends the headers for it.',
  );
}
start(first);
