/**
 * The document's server: `node server.js <subject> <cost>`. One route, and `/ping` for light requests. Reports its
 * port when it listens, and the processor time that it has used on request.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { usedMicroseconds } from '../../../harness/sample.js';
import { hashOf } from './hashing.js';

export interface Report {
  readonly port: number;
  /** The processor time of all its threads so far. */
  readonly usedMicroseconds: number;
}

const [name = '', cost] = process.argv.slice(2);
const hash = await hashOf(name, Number(cost));

const app = express();
app.get('/hash', async (_request, response) => {
  response.send(await hash());
});
app.get('/ping', (_request, response) => {
  response.send('pong');
});
const server = app.listen(0, '127.0.0.1', report);
// ab counts a connection that the server closes as a failed request, also when it has its answer.
server.keepAliveTimeout = 60_000;

function report(): void {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, usedMicroseconds: usedMicroseconds() } satisfies Report);
}

process.on('message', report);
process.on('disconnect', () => process.exit(0));
