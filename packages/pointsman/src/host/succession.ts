/**
 * Which process serves a namespace: the one that has published the journal of the highest epoch.
 *
 * Invariant: a successor has all that its predecessors have replied to. It may therefore succeed any server at any time:
 * one that has died, is stopped or is only slow. Clients succeed a server that does not answer.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:net';
import { aheadNow, currentBoot, isSameBoot, monotonic } from './clock.js';
import { VERSION } from './frames.js';
import { epochsIn, Journal, type Recorded, readJournal, remove, sealJournal } from './journal.js';
import { newAddress } from './names.js';
import { Namespace } from './namespace.js';
import type { Place } from './place.js';
import { readRecord } from './records.js';
import { type Origin, Server } from './server.js';
import { SocketPeer } from './socket-peer.js';

/** The first text of a journal. */
export interface Header extends Origin {
  readonly version: number;
  readonly boot: string;
  readonly address: string;
  readonly secret: string;
}

export interface Found {
  readonly epoch: number;
  /** Undefined if it cannot be read. */
  readonly header: Header | undefined;
}

function headerOf({ records }: Recorded): Header | undefined {
  try {
    return records[0] && (JSON.parse(records[0].toString()) as Header);
  } catch {
    return undefined;
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Finds the current server, dead or alive. */
export function find(place: Place): Found | undefined {
  for (;;) {
    const epoch = epochsIn(place.folder).at(-1);
    if (epoch === undefined) return undefined;
    try {
      return { epoch, header: headerOf(readJournal(place.folder, epoch)) };
    } catch (error) {
      // A successor has deleted it.
      if (!isMissing(error)) throw error;
    }
  }
}

/** Whether the machine has been restarted since, so that this server cannot be alive. */
export const isFromEarlierBoot = (header: Header): boolean =>
  !isSameBoot(header.boot, currentBoot());

interface Kept {
  readonly namespace: Namespace;
  readonly origin: Origin;
}

/** A namespace without state, whose tokens are above those that were issued before. */
function afresh(lost: boolean, last = 0): Kept {
  const ahead = Math.max(aheadNow(), last - monotonic());
  const run = randomBytes(6).toString('hex');
  const lostAt = lost ? ahead + monotonic() : undefined;
  return { namespace: new Namespace(run, lostAt), origin: { ahead, run, lostAt } };
}

/**
 * Seals a predecessor's journal and reads it. Most of it is read before the seal, because a live predecessor cannot reply
 * after it.
 */
function takeOver(folder: string, epoch: number): Kept {
  const begun = readJournal(folder, epoch);
  const restored = restore(begun);
  sealJournal(folder, epoch);
  // Locks may be held that are not known any more.
  if (restored === undefined) return afresh(true);
  const { header, namespace } = restored;
  replay(namespace, readJournal(folder, epoch, begun.end).records);
  if (isFromEarlierBoot(header)) return afresh(false, Math.max(namespace.token, namespace.seen));
  const { run, lostAt } = header;
  const ahead = Math.max(header.ahead, namespace.seen - monotonic());
  for (const client of namespace.dead(() => false)) {
    namespace.change({ kind: 'gone', client }, ahead + monotonic(), () => {});
  }
  return { namespace, origin: { ahead, run, lostAt } };
}

/** Returns undefined if it cannot be read. */
function restore(recorded: Recorded): { header: Header; namespace: Namespace } | undefined {
  const header = headerOf(recorded);
  const [, snapshot, ...records] = recorded.records;
  if (header === undefined || header.version !== VERSION || snapshot === undefined)
    return undefined;
  try {
    const namespace = new Namespace(header.run, header.lostAt, snapshot.toString());
    replay(namespace, records);
    return { header, namespace };
  } catch {
    return undefined;
  }
}

function replay(namespace: Namespace, records: readonly Buffer[]): void {
  for (const record of records) {
    const { now, change } = readRecord(record);
    try {
      namespace.change(change, now, () => {});
    } catch {
      // It has failed in the same way when its server made it.
    }
  }
}

function listen(path: string): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.once('error', reject);
    listener.listen({ path, backlog: 4_096 }, () => resolve(listener.off('error', reject)));
  });
}

/** Succeeds the server that was found. Returns undefined if another process has. */
export async function succeed(place: Place, found: Found | undefined): Promise<Server | undefined> {
  const epoch = (found?.epoch ?? 0) + 1;
  const address = newAddress(epoch);
  const listener = await listen(place.pathOf(address));
  // It listens before it can be found: a server whose connections are refused is dead.
  let server: Server | undefined;
  try {
    server = publish(place, found?.epoch, epoch, address, listener);
    return server;
  } catch (error) {
    // Another process has succeeded, and its successor has deleted the files.
    if (isMissing(error)) return undefined;
    throw error;
  } finally {
    if (server === undefined) listener.close();
  }
}

function publish(
  place: Place,
  last: number | undefined,
  epoch: number,
  address: string,
  listener: Listener,
): Server | undefined {
  const { folder } = place;
  // Made with the first journal. If it is alone, the journals have been deleted.
  const marker = `${folder}/namespace`;
  const kept = last === undefined ? afresh(existsSync(marker)) : takeOver(folder, last);
  const { namespace, origin } = kept;
  const secret = randomBytes(16).toString('hex');
  const header: Header = { version: VERSION, boot: currentBoot(), address, secret, ...origin };
  const text = JSON.stringify(header);
  const journal = Journal.publish(
    folder,
    epoch,
    address,
    text,
    namespace.snapshot(() => false),
  );
  if (journal === undefined) return undefined;
  if (last === undefined) writeFileSync(marker, '', { mode: 0o600 });
  const server = new Server(namespace, journal, origin, address, text);
  listener.on('connection', (socket) => {
    socket.unref();
    new SocketPeer(socket, server, secret);
  });
  void server.ended.then(() => {
    listener.close();
    if (process.platform !== 'win32') remove(place.pathOf(address));
  });
  return server;
}
