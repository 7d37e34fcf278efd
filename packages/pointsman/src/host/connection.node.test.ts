/** The connection to a server: answers belong to the requests of the same transport. */
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../tests/host/processes.js';
import type { Batch, Operation } from '../shared/protocol/protocol.js';
import { HostConnection } from './connection.js';

test('answers that an earlier transport delivers late are not those of the current one', async () => {
  const connection = new HostConnection('test', temporaryFolder(), 60_000);
  onTestFinished(() => connection.close());
  let resumed = () => {};
  const nextResume = () =>
    new Promise<void>((resolve) => {
      resumed = resolve;
    });
  const up = nextResume();
  connection.add({ suspend() {}, resume: () => resumed(), recheck() {}, receive() {} });
  await up;
  const batch = (operation: Operation): Batch => ({
    session: 'a.0',
    ttl: 60_000,
    incarnation: 0,
    join: 'new',
    secret: 's',
    operations: [operation],
  });
  // The server is still busy with them when the next connection is up.
  const lost = Array.from({ length: 1_000 }, () =>
    connection.exchange(batch({ name: 'reserve', tokens: 1 })).catch((error) => error.name),
  );
  const again = nextResume();
  connection.reconnect();
  await again;
  const reply = await connection.exchange(batch({ name: 'query' }));
  expect(reply).toMatchObject({ name: 'done', results: [{ name: 'query' }] });
  expect(new Set(await Promise.all(lost))).toEqual(new Set(['ConnectionLostError']));
});
