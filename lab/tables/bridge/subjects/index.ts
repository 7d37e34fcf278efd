/**
 * Every subject of the table, in the order of the report: ours, the variants of the published document, the peers,
 * hand-written ones, the floors.
 *
 * To add a peer, add a file to this folder and an entry here. The cells and rows include it according to its works.
 */
import functionAlone from '../floors/function-alone.js';
import portPingPong from '../floors/port-ping-pong.js';
import sleepingPingPong from '../floors/sleeping-ping-pong.js';
import spinningPingPong from '../floors/spinning-ping-pong.js';
import type { BridgeSubject } from '../subject.js';
import coincident from './coincident.js';
import comlink from './comlink.js';
import copyInMemory from './copy-in-memory.js';
import makeSynchronized from './make-synchronized.js';
import pointsman from './pointsman.js';
import pointsmanNoSpin from './pointsman-no-spin.js';
import portPortStructured from './port-port-structured.js';
import portSabCbor from './port-sab-cbor.js';
import portSabCustom from './port-sab-custom.js';
import postMessage from './post-message.js';
import sabSabCbor from './sab-sab-cbor.js';
import sabSabCustom from './sab-sab-custom.js';
import syncMessage from './sync-message.js';
import synckit from './synckit.js';
import synclink from './synclink.js';
import transferredCopy from './transferred-copy.js';

/** By module name; a page's bundle imports one module. */
const modules: Readonly<Record<string, BridgeSubject>> = {
  'subjects/pointsman': pointsman,
  'subjects/pointsman-no-spin': pointsmanNoSpin,
  'subjects/port-port-structured': portPortStructured,
  'subjects/port-sab-custom': portSabCustom,
  'subjects/port-sab-cbor': portSabCbor,
  'subjects/sab-sab-custom': sabSabCustom,
  'subjects/sab-sab-cbor': sabSabCbor,
  'subjects/comlink': comlink,
  'subjects/coincident': coincident,
  'subjects/sync-message': syncMessage,
  'subjects/synclink': synclink,
  'subjects/synckit': synckit,
  'subjects/make-synchronized': makeSynchronized,
  'subjects/post-message': postMessage,
  'subjects/transferred-copy': transferredCopy,
  'subjects/copy-in-memory': copyInMemory,
  'floors/function-alone': functionAlone,
  'floors/spinning-ping-pong': spinningPingPong,
  'floors/sleeping-ping-pong': sleepingPingPong,
  'floors/port-ping-pong': portPingPong,
};

export const subjects: readonly BridgeSubject[] = Object.values(modules);

/** No subject can be faster than the function itself; */
export const lowestFloor = functionAlone.name;
/** nor than this, where both threads have a core and each call crosses alone. */
export const crossingFloor = spinningPingPong.name;

/** The variants of the document, in its order. */
export const documentVariants = [
  portPortStructured,
  portSabCustom,
  portSabCbor,
  sabSabCustom,
  sabSabCbor,
];

export function subjectNamed(name: string): BridgeSubject {
  return entryNamed(name)[1];
}

export function moduleOf(name: string): string {
  return entryNamed(name)[0];
}

function entryNamed(name: string): [string, BridgeSubject] {
  const found = Object.entries(modules).find(([, subject]) => subject.name === name);
  if (!found) {
    const names = subjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
