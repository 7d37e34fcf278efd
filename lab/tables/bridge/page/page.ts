/**
 * The page: the host of a session, controlled from outside through `lab`.
 *
 * The called function reads the position of a box in this page, as in the published document.
 */
import type { Found, Order } from '../caller/order.js';
import { box, type Rect } from '../host/functions.js';
import { type Ground, Session } from '../host/session.js';
import type { BridgeSubject } from '../subject.js';
import { gapsBetweenFrames } from './frames.js';
import { pageThread } from './thread.js';

export interface PageLab {
  /** Returns the session's number. */
  open(): Promise<number>;
  run(session: number, order: Order): Promise<Found>;
}

export function runPage(subject: BridgeSubject): void {
  const ground: Ground = {
    platform: 'Chromium',
    rect: readerOf(placeBox()),
    startWorker({ part, channel }, onError, Implementation = Worker) {
      const address = `/worker.js?${new URLSearchParams({ part, channel })}`;
      const worker = new Implementation(address, { type: 'module' });
      worker.addEventListener('error', ({ message }) => onError(new Error(message)));
      return { raw: worker, thread: pageThread(worker), end: () => worker.terminate() };
    },
  };
  const sessions: Session[] = [];
  const lab: PageLab = {
    async open() {
      if (!globalThis.crossOriginIsolated) throw new Error('the page is not isolated');
      return sessions.push(await Session.open(subject, ground)) - 1;
    },
    async run(number, order) {
      const session = sessions[number];
      if (!session) throw new Error(`session ${number} is not open`);
      if (order.work !== 'frames') return session.run(order);
      const gaps = gapsBetweenFrames();
      const { calls } = await session.run(order);
      return { samples: { frames: await gaps.end() }, calls };
    },
  };
  Object.assign(globalThis, { lab });
}

function placeBox(): HTMLElement {
  const element = document.createElement('div');
  const { left, top, width, height } = box;
  Object.assign(element.style, {
    position: 'absolute',
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
  document.body.append(element);
  return element;
}

function readerOf(element: HTMLElement): () => Rect {
  return () => {
    const rect = element.getBoundingClientRect();
    return {
      x: rect.x,
      y: rect.y,
      width: rect.width,
      height: rect.height,
      left: rect.left,
      right: rect.right,
      top: rect.top,
      bottom: rect.bottom,
    };
  };
}
