/**
 * Requests that show what a limiter lets through at the border of two windows, recorded for the judge.
 *
 * In each cycle one request comes alone, which begins a window in many limiters. Almost a window later, all tasks of all
 * processes ask for a bit longer than a window. A limiter with fixed windows, which begin with a request or with the
 * clock, lets its limit through before a border and again behind it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Start } from '../judge.js';
import type { LimitClient, Rule } from '../subject.js';

export const rule: Rule = { limit: 100, per: 1_000 };
export const cycles = 2;
const tasks = 10;
const pauseMilliseconds = 5;
const floodFrom = 900;
const floodTo = 2_050;
const cycleMilliseconds = 2_200;

export const traceMilliseconds = cycles * cycleMilliseconds;

/** Milliseconds of a clock that all processes of the machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** `at`: when the first cycle begins. Only the first process sends the requests that come alone. */
export async function trace(client: LimitClient, at: number, isFirst: boolean): Promise<Start[]> {
  const starts: Start[] = [];
  const sleepUntil = (time: number) => sleep(Math.max(0, time - now()));

  async function ask(): Promise<void> {
    const asked = now();
    if (await client.decide('trace')) starts.push({ asked, answered: now() });
  }

  for (let cycle = 0; cycle < cycles; cycle++) {
    const begin = at + cycle * cycleMilliseconds;
    await sleepUntil(begin);
    if (isFirst) await ask();
    await sleepUntil(begin + floodFrom);
    const task = async () => {
      while (now() < begin + floodTo) {
        await ask();
        await sleep(pauseMilliseconds);
      }
    };
    await Promise.all(Array.from({ length: tasks }, task));
  }
  return starts;
}
