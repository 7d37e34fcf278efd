/** The clock of a namespace, and the identity of the machine's current boot. */

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** Microseconds on the machine's monotonic clock, which all processes share. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3);
}

/** How far the wall clock is ahead of the monotonic one. A namespace keeps it, so that tokens grow across boots. */
export const aheadNow = (): number => Date.now() * 1000 - monotonic();

/** Identifies the current boot: by an id on Linux, elsewhere by its time in seconds. */
export function currentBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return `${Math.round(Date.now() / 1000 - uptime())}`;
  }
}

/** Whether two values identify the same boot. Times may differ, because the wall clock may have been set. */
export function isSameBoot(a: string, b: string): boolean {
  return a === b || Math.abs(Number(a) - Number(b)) < 60;
}
