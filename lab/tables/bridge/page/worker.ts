/** A worker of the page. Its address says which part it has. */
import { obey } from '../caller/obey.js';
import type { BridgeSubject, Part } from '../subject.js';
import { type MessageEnd, pageThread } from './thread.js';

export async function runWorker(subject: BridgeSubject): Promise<void> {
  const address = new URL(globalThis.location.href).searchParams;
  const part = address.get('part') as Part;
  const channel = address.get('channel') ?? '';
  const self = globalThis as unknown as MessageEnd;
  const place = { platform: 'Chromium', thread: pageThread(self), raw: self } as const;
  await obey(subject, place, { part, channel });
}
