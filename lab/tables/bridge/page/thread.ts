/** A web worker's messages, or its page's, in the one form that subjects use. */
import type { Thread } from '../subject.js';

export interface MessageEnd {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: 'message', heard: (event: MessageEvent) => void): void;
}

export function pageThread(end: MessageEnd): Thread {
  return {
    post: (message, transfer = []) => end.postMessage(message, transfer),
    listen: (heard) => end.addEventListener('message', (event) => heard(event.data)),
  };
}
