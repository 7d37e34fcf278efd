/**
 * The five variants of the published document, after its text and its protocol.
 *
 * One shared buffer. Word 0 is the state; words 1 to 8 are the answer as whole numbers; for CBOR byte 4 is the length
 * and the answer begins at byte 5. Requests go through a transferred MessagePort, or are written into word 0: -1 and
 * -2 request, -99 ends.
 *
 * Two things differ from the document. Its host is not published; this one checks the word again before it waits for
 * the next change, or it could miss one. Its worker does not check the word when it is woken, so a wake-up for the
 * previous call can end the next call early, with the previous answer. This worker checks.
 */
import type { Rect } from '../host/functions.js';
import type { BridgeSubject, Caller, HostPlace, Thread } from '../subject.js';
import { calls } from '../work.js';

type Request = 'port' | 'sab';
type Codec = 'structured' | 'custom' | 'cbor';

const state = 0;
const firstNumber = 1;
const cborLengthByte = 4;
const cborByte = 5;
const bufferBytes = 1_024;

const waiting = 0;
const answered = 1;
const askCustom = -1;
const askCbor = -2;
const end = -99;

interface PortRequest {
  readonly type: string;
  readonly reqId?: number;
}

type CborX = typeof import('cbor-x');

const wholeNumbers = 'answers are truncated to whole numbers, as in the document';
const shortAnswers = 'answers have up to 255 bytes';

/** In the document's order. */
export default [
  variant('port', 'structured', 'Awaited: request and answer use a MessagePort.'),
  variant('port', 'custom', `Requests use a MessagePort; ${wholeNumbers}.`),
  variant('port', 'cbor', `Requests use a MessagePort; ${shortAnswers}.`),
  variant('sab', 'custom', `Requests use shared memory; ${wholeNumbers}.`),
  variant('sab', 'cbor', `Requests use shared memory; ${shortAnswers}.`),
];

function variant(request: Request, codec: Codec, note: string): BridgeSubject {
  const cborX = async () => (codec === 'cbor' ? await import('cbor-x') : undefined);
  return {
    name: `${request}_${codec === 'structured' ? 'port' : 'sab'}__${codec}`,
    note,
    role: 'peer',
    platforms: ['Chromium', 'Node'],
    does: [
      ...calls,
      ...(codec === 'structured' ? (['in flight'] as const) : []),
      ...(codec === 'custom' ? (['frames'] as const) : []),
    ],
    doneBy: codec === 'structured' ? { awaited: 'call' } : { 'batch of 8': 'call' },
    ...(codec === 'custom' ? { wholeNumbers: true as const } : {}),
    async serve(place) {
      const buffer = new SharedArrayBuffer(bufferBytes);
      serveVariant(place, buffer, await cborX());
      return undefined;
    },
    async connect(place) {
      const { port, buffer } = await portAndBuffer(place.thread);
      if (request === 'sab') return callThroughMemory(port, buffer, await cborX());
      return codec === 'structured'
        ? callThroughPort(port)
        : callThroughPortAndMemory(port, buffer, await cborX());
    },
  };
}

// --- the host ---

function serveVariant(
  { functions, startWorker }: HostPlace,
  buffer: SharedArrayBuffer,
  cborX?: CborX,
) {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);

  const answerCustom = () => {
    const { x, y, width, height, left, right, top, bottom } = functions.rect();
    words.set([x, y, width, height, left, right, top, bottom], firstNumber);
  };
  const answerCbor = () => {
    const encoded = cborX?.encode(functions.rect()) ?? new Uint8Array();
    bytes[cborLengthByte] = encoded.length;
    bytes.set(encoded, cborByte);
  };
  const notify = () => {
    Atomics.store(words, state, answered);
    Atomics.notify(words, state);
  };

  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event) => {
    const { type, reqId } = event.data as PortRequest;
    if (type === 'port_port__structured') {
      port1.postMessage({ type: 'resolve', reqId, result: functions.rect() });
    } else if (type === 'blocking_start') {
      notify();
      void answerMemory(words, answerCustom, answerCbor, notify);
    } else {
      if (type === 'port_sab__custom') answerCustom();
      else answerCbor();
      notify();
    }
  };
  startWorker().thread.post({ port: port2, buffer }, [port2]);
}

/** Not in TypeScript's ES2023 libraries. */
const { waitAsync } = Atomics as unknown as {
  waitAsync(
    words: Int32Array,
    index: number,
    value: number,
  ): { readonly async: boolean; readonly value: string | Promise<string> };
};

async function answerMemory(
  words: Int32Array,
  answerCustom: () => void,
  answerCbor: () => void,
  notify: () => void,
): Promise<void> {
  for (;;) {
    const asked = Atomics.load(words, state);
    if (asked === end) return;
    if (asked === askCustom || asked === askCbor) {
      if (asked === askCustom) answerCustom();
      else answerCbor();
      notify();
    }
    const seen = Atomics.load(words, state);
    if (seen !== askCustom && seen !== askCbor && seen !== end) {
      await waitAsync(words, state, seen).value;
    }
  }
}

// --- the worker ---

async function portAndBuffer(
  thread: Thread,
): Promise<{ readonly port: MessagePort; readonly buffer: SharedArrayBuffer }> {
  return new Promise((resolve) => thread.listen(resolve));
}

function callThroughPort(port: MessagePort): Caller {
  const pending = new Map<number, (rect: Rect) => void>();
  let sequence = 0;
  port.onmessage = (event) => {
    const { reqId, result } = event.data as { readonly reqId: number; readonly result: Rect };
    pending.get(reqId)?.(result);
    pending.delete(reqId);
  };
  return {
    awaited: {
      rect: () =>
        new Promise<Rect>((resolve) => {
          const reqId = sequence++;
          pending.set(reqId, resolve);
          port.postMessage({ type: 'port_port__structured', reqId });
        }),
    },
  };
}

function customAnswer(words: Int32Array): Rect {
  const number = (index: number) => words[firstNumber + index] as number;
  return {
    x: number(0),
    y: number(1),
    width: number(2),
    height: number(3),
    left: number(4),
    right: number(5),
    top: number(6),
    bottom: number(7),
  };
}

function cborAnswer(bytes: Uint8Array, { decode }: CborX): Rect {
  const length = bytes[cborLengthByte] as number;
  return decode(bytes.slice(cborByte, cborByte + length));
}

function callThroughPortAndMemory(
  port: MessagePort,
  buffer: SharedArrayBuffer,
  cborX?: CborX,
): Caller {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const type = cborX ? 'port_sab__cbor' : 'port_sab__custom';
  return {
    blocking: {
      rect() {
        Atomics.store(words, state, waiting);
        port.postMessage({ type });
        while (Atomics.load(words, state) === waiting) Atomics.wait(words, state, waiting);
        return cborX ? cborAnswer(bytes, cborX) : customAnswer(words);
      },
    },
  };
}

function callThroughMemory(port: MessagePort, buffer: SharedArrayBuffer, cborX?: CborX): Caller {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const ask = cborX ? askCbor : askCustom;
  Atomics.store(words, state, waiting);
  port.postMessage({ type: 'blocking_start' });
  Atomics.wait(words, state, waiting);
  return {
    blocking: {
      rect() {
        Atomics.store(words, state, ask);
        Atomics.notify(words, state);
        while (Atomics.load(words, state) === ask) Atomics.wait(words, state, ask);
        return cborX ? cborAnswer(bytes, cborX) : customAnswer(words);
      },
    },
  };
}
