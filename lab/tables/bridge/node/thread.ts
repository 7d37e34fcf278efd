/** A worker's messages, or its parent's, in the one form that subjects use. */
import type { MessagePort, TransferListItem, Worker } from 'node:worker_threads';
import type { Thread } from '../subject.js';

export function nodeThread(end: Worker | MessagePort): Thread {
  return {
    post: (message, transfer = []) => end.postMessage(message, transfer as TransferListItem[]),
    listen: (heard) => end.on('message', heard),
  };
}
