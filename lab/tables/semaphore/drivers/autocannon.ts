/**
 * autocannon, the fallback if oha is not installed. Its own rate is counted per second and its latencies are whole
 * milliseconds, so the times are taken from each response.
 */
import type { Result } from 'autocannon';
import type { Driver, Load, LoadResult } from './driver.js';

export const autocannonDriver: Driver = { name: 'autocannon', send };

/** How often autocannon checks whether it is done, in milliseconds; the default is once a second. */
const sampleInt = 10;

async function send(
  url: string,
  { requests, connections }: Load,
  expected: string,
): Promise<LoadResult> {
  // Imported here, because the processes of the other cells do not need it.
  const { default: autocannon } = await import('autocannon');
  const milliseconds: number[] = [];
  let accepted = 0;
  const startedAt = performance.now();
  let lastAt = startedAt;
  const { mismatches } = await new Promise<Result>((resolve, reject) => {
    const running = autocannon(
      { url, amount: requests, connections, sampleInt, verifyBody: (body) => body === expected },
      (error, result) => (error ? reject(error) : resolve(result)),
    );
    running.on('response', (_client, statusCode, _bytes, responseMilliseconds) => {
      lastAt = performance.now();
      milliseconds.push(responseMilliseconds);
      if (statusCode === 200) accepted += 1;
    });
  });
  const sum = milliseconds.reduce((total, each) => total + each, 0);
  return {
    totalSeconds: (lastAt - startedAt) / 1_000,
    averageSeconds: sum / milliseconds.length / 1_000,
    slowestSeconds: Math.max(...milliseconds) / 1_000,
    answered: accepted - mismatches,
  };
}
