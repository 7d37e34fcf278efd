/**
 * Every subject of the table, in the order of the report: ours, the variants of the published document, the peers,
 * hand-written ones, the floors.
 *
 * To add a peer, add a file to this folder and an entry here. The cells and rows include it according to its works.
 */
import functionAlone from '../floors/function-alone.js';
import pingPong from '../floors/ping-pong.js';
import portPingPong from '../floors/port-ping-pong.js';
import type { BridgeSubject } from '../subject.js';
import coincident from './coincident.js';
import comlink from './comlink.js';
import document from './document.js';
import makeSynchronized from './make-synchronized.js';
import pointsman from './pointsman.js';
import postMessage from './post-message.js';
import syncMessage from './sync-message.js';
import synckit from './synckit.js';
import synclink from './synclink.js';
import transferredCopy from './transferred-copy.js';

/** By module; the bundle of a page imports one. */
const modules: Readonly<Record<string, BridgeSubject | readonly BridgeSubject[]>> = {
  'subjects/pointsman': pointsman,
  'subjects/document': document,
  'subjects/comlink': comlink,
  'subjects/coincident': coincident,
  'subjects/sync-message': syncMessage,
  'subjects/synclink': synclink,
  'subjects/synckit': synckit,
  'subjects/make-synchronized': makeSynchronized,
  'subjects/post-message': postMessage,
  'subjects/transferred-copy': transferredCopy,
  'floors/function-alone': functionAlone,
  'floors/ping-pong': pingPong,
  'floors/port-ping-pong': portPingPong,
};

export const subjects: readonly BridgeSubject[] = Object.values(modules).flat();

/** The floor of all calls: no subject can be faster than the function itself. */
export const lowestFloor = functionAlone.name;
/** The floor of single calls where each of the two threads has a core. */
export const crossingFloor = 'two workers, polling';

export const documentVariants: readonly BridgeSubject[] = document;

export function subjectNamed(name: string): BridgeSubject {
  const found = subjects.find((subject) => subject.name === name);
  if (!found) {
    const names = subjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}

/** The module whose default export is the subject, or several with it. */
export function moduleOf(name: string): string {
  const subject = subjectNamed(name);
  const entries = Object.entries(modules);
  return entries.find(([, exported]) => [exported].flat().includes(subject))?.[0] ?? '';
}
