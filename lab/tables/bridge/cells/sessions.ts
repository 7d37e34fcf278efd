/** Where the sessions of a cell run: a page of a browser, or this process. */

import { descendantsOf } from '../../../harness/processor-time.js';
import type { Found, Order } from '../caller/order.js';
import { Session } from '../host/session.js';
import { nodeGround } from '../node/ground.js';
import { findChromium, openPage } from '../page/browser.js';
import type { Platform } from '../subject.js';
import { subjectNamed } from '../subjects/index.js';

export interface Sessions {
  open(): Promise<{ run(order: Order): Promise<Found> }>;
  /** The processes whose processor time counts for the calls. */
  processes(): readonly number[];
  close(): Promise<void>;
}

/** Undefined if the platform is not installed. A page is alone in its browser if its idle time is measured. */
export async function openSessions(
  platform: Platform,
  name: string,
  isAlone: boolean,
): Promise<Sessions | undefined> {
  if (platform === 'Chromium') {
    const program = findChromium();
    if (program === undefined) return undefined;
    const page = await openPage(program, name, isAlone);
    return { ...page, processes: () => [page.process, ...descendantsOf(page.process)] };
  }
  const opened: Session[] = [];
  return {
    async open() {
      const session = await Session.open(subjectNamed(name), nodeGround(platform, name));
      opened.push(session);
      return session;
    },
    processes: () => [process.pid],
    async close() {
      for (const session of opened) session.close();
    },
  };
}
