/** The works that are measured. A subject lists those that it does. */

/** The payload of an answer, besides the eight numbers. */
export const payloads = {
  'a 1 kB object': { kind: 'record', length: 0 },
  '64 kB of text': { kind: 'text', length: 1 << 16 },
  '64 kB of bytes': { kind: 'bytes', length: 1 << 16 },
} as const;

/** A text of this length is also sent there and back, as a linter sends a source file to a formatter. */
export const sourceLength = 8 << 10;

export type Payload = keyof typeof payloads;

export type Work =
  /** One call at a time, blocking if the subject can block, otherwise awaited. */
  | 'call'
  /** One call at a time, awaited. */
  | 'awaited'
  /** One blocking call at a time of a function that returns a promise. */
  | 'async function'
  | 'in flight'
  | 'batch of 8'
  /** One blocking call at a time, a source text there and back. */
  | 'source text'
  /** Single calls, each timed. */
  | 'single'
  /** One call at a time without a pause, observed from the page. */
  | 'frames'
  /** Connected, without calls. */
  | 'idle'
  | Payload;

export const payloadNames = Object.keys(payloads) as Payload[];
export const bytePayloads = payloadNames.filter((name) => payloads[name].kind === 'bytes');
export const jsonPayloads = payloadNames.filter((name) => payloads[name].kind !== 'bytes');

/** One call at a time and its latency: every subject does these. */
export const calls = ['call', 'single'] as const satisfies readonly Work[];

export const inFlight = 64;
export const batchSize = 8;

export function isPayload(work: Work): work is Payload {
  return work in payloads;
}
