/**
 * Light requests at fixed times, independent of the answers. Invariant: each is timed from the moment at which it was
 * due, so a delay of the server counts for all requests due meanwhile.
 */
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const everyMilliseconds = 10;

/** Sends requests until `load` has ended. Returns their times in milliseconds. */
export async function pingDuring(url: string, load: Promise<unknown>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const answered: Promise<number>[] = [];
  let isOver = false;
  const over = load.finally(() => {
    isOver = true;
  });
  const startedAt = performance.now();
  for (let due = startedAt; !isOver; due += everyMilliseconds) {
    await pause(Math.max(0, due - performance.now()));
    answered.push(ping(url, agent, due));
  }
  await over;
  const latencies = await Promise.all(answered);
  agent.destroy();
  return latencies;
}

function ping(url: string, agent: Agent, due: number): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('end', () => {
        if (body === 'pong') resolve(performance.now() - due);
        else reject(new Error(`/ping answered ${response.statusCode} ${body}`));
      });
    })
      .on('error', reject)
      .end();
  });
}
