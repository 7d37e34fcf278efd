/** The clock of a namespace on this machine, and which start of the machine it belongs to. */

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** Microseconds on the clock that all processes of the machine share and that is never set. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3);
}

/** How far the wall clock is ahead of it. A namespace keeps what it began with, so its tokens grow after a restart. */
export const aheadNow = (): number => Date.now() * 1000 - monotonic();

/** The start of the machine: an id on Linux, elsewhere the time in seconds. */
export function currentBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return `${Math.round(Date.now() / 1000 - uptime())}`;
  }
}

/** Whether two names are of the same start; a time may have been measured with another wall clock. */
export function isSameBoot(a: string, b: string): boolean {
  return a === b || Math.abs(Number(a) - Number(b)) < 60;
}
