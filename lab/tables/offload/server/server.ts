/**
 * The document's server: `node server.js <subject> <cost>`. One route, and `/ping` for light requests. Reports its
 * port when it listens, and the delay of its event loop on request.
 */
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import express from 'express';
import { hashOf, sync } from './hashing.js';

export type Report = { readonly port: number } | { readonly delay: LoopDelay };

/** In milliseconds. */
export interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}

const [name = '', cost] = process.argv.slice(2);
const hash = await hashOf(name, Number(cost));
const delay = monitorEventLoopDelay({ resolution: 1 });
const send = (report: Report) => process.send?.(report);

const app = express();
app.get(name === sync.name ? '/sync' : '/async', async (_request, response) => {
  response.send(await hash());
});
app.get('/ping', (_request, response) => {
  response.send('pong');
});
const server = app.listen(0, '127.0.0.1', () => {
  send({ port: (server.address() as AddressInfo).port });
});

process.on('message', (asked) => {
  if (asked === 'reset') {
    delay.reset();
    delay.enable();
  } else {
    send({ delay: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 } });
  }
});
process.on('disconnect', () => process.exit(0));
