/** The worker: measures and moves the labels, as if the page were in its thread. */
import { connect } from '/pointsman/bridge.js';

const blocks = new URL(import.meta.url).searchParams.get('calls') === 'blocking';
const host = connect();
await host.ready;

const { count } = await host.async.setUp();
const ids = Array.from({ length: count }, (_, id) => id);
/** Pixels per second. */
const speed = 26;
const bodies = ids.map((id) => ({
  x: Number.NaN,
  y: Number.NaN,
  dx: speed * Math.cos(id * 2.4),
  dy: speed * Math.sin(id * 2.4),
}));

/** Moves each label: it drifts, bounces off the walls, and avoids other labels and the pointer. */
function step(rects, { left, top, width, height, pointer }, seconds) {
  for (const [id, body] of bodies.entries()) {
    const rect = rects[id];
    // Only once: later a position is a sum of small steps, and reading it back would round them.
    if (Number.isNaN(body.x)) {
      body.x = rect.x - left;
      body.y = rect.y - top;
    }
    body.width = rect.width;
    body.height = rect.height;
    body.x += body.dx * seconds;
    body.y += body.dy * seconds;
    if (pointer) {
      const x = body.x + body.width / 2 - (pointer.x - left);
      const y = body.y + body.height / 2 - (pointer.y - top);
      const distance = Math.hypot(x, y) || 1;
      const push = Math.max(0, 1 - distance / 110) * 420 * seconds;
      body.x += (x / distance) * push;
      body.y += (y / distance) * push;
    }
  }
  for (const [index, one] of bodies.entries()) {
    for (let other = index + 1; other < bodies.length; other++) part(one, bodies[other], seconds);
  }
  for (const body of bodies) {
    bounce(body, 'x', 'dx', width - body.width - 2);
    bounce(body, 'y', 'dy', height - body.height - 2);
  }
}

/** Moves two overlapping labels apart in the shorter direction, in which they then continue. */
function part(one, two, seconds) {
  const x = (one.width + two.width) / 2 - Math.abs(one.x + one.width / 2 - two.x - two.width / 2);
  const y =
    (one.height + two.height) / 2 - Math.abs(one.y + one.height / 2 - two.y - two.height / 2);
  if (x <= 0 || y <= 0) return;
  const share = Math.min(1, 12 * seconds) / 2;
  if (x < y) {
    const side = Math.sign(one.x + one.width / 2 - two.x - two.width / 2) || 1;
    one.x += side * x * share;
    two.x -= side * x * share;
    one.dx = side * Math.abs(one.dx);
    two.dx = -side * Math.abs(two.dx);
  } else {
    const side = Math.sign(one.y - two.y) || 1;
    one.y += side * y * share;
    two.y -= side * y * share;
    one.dy = side * Math.abs(one.dy);
    two.dy = -side * Math.abs(two.dy);
  }
}

function bounce(body, place, velocity, max) {
  if (body[place] < 0) {
    body[place] = 0;
    body[velocity] = Math.abs(body[velocity]);
  } else if (body[place] > max) {
    body[place] = Math.max(0, max);
    body[velocity] = -Math.abs(body[velocity]);
  }
}

let calls = 0;
let waiting = 0;
let longest = 0;
let reported = performance.now();
let last = reported;

/** Counts calls: sequential ones if they block, otherwise concurrent ones. */
function counted(number, began) {
  const took = performance.now() - began;
  calls += number;
  waiting += blocks ? took : number * took;
  longest = Math.max(longest, took);
}

for (;;) {
  // Waits for the next drawing; this call is not counted.
  const asked = performance.now();
  const view = blocks ? host.frame() : await host.async.frame();
  longest = Math.max(longest, performance.now() - asked);
  const now = performance.now();

  const rects = blocks
    ? ids.map((id) => host.getBoundingClientRect(id))
    : await Promise.all(ids.map((id) => host.async.getBoundingClientRect(id)));
  counted(count, now);

  step(rects, view, Math.min(0.05, (now - last) / 1_000));
  last = now;

  const began = performance.now();
  if (blocks) for (const id of ids) host.move(id, bodies[id].x, bodies[id].y);
  else await Promise.all(ids.map((id) => host.async.move(id, bodies[id].x, bodies[id].y)));
  counted(count, began);

  const milliseconds = performance.now() - reported;
  if (milliseconds >= 250) {
    host.send.report({ calls, milliseconds, waiting, longest });
    calls = 0;
    waiting = 0;
    longest = 0;
    reported = performance.now();
  }
}
