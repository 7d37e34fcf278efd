/**
 * Which processes of the machine are alive.
 *
 * Invariant: `isDead` is true only for a process that will never run again, even if its id is reused.
 */

import { readFileSync, readlinkSync } from 'node:fs';

/** Identifies a process among all that have run since the machine was started. */
export interface Identity {
  readonly pid: number;
  /** When it was started, in ticks since the start of the machine; '' if unknown. */
  readonly started: string;
  /** The namespace of its process id, since each container has its own; '' if unknown. */
  readonly space: string;
}

interface Status {
  readonly started: string;
  readonly ending: boolean;
}

/** Linux: the process has begun to exit (`PF_EXITING`). Its files are closed after that. */
const EXITING = 0x4;

/** Reads the status of a process on Linux; undefined if there is no such process, or no such file on this platform. */
function statusOf(pid: number | 'self'): Status | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The name of the program may contain any character, so the fields are counted from its end.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ending = fields[0] === 'Z' || fields[0] === 'X' || (Number(fields[6]) & EXITING) !== 0;
  return { started: fields[19] ?? '', ending };
}

function ownSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

export const self: Identity = {
  pid: process.pid,
  started: statusOf('self')?.started ?? '',
  space: ownSpace(),
};

/** Whether the process has certainly died. Unknown, and so false, for a process in another container. */
export function isDead({ pid, started, space }: Identity): boolean {
  if (space !== self.space) return false;
  if (self.started !== '') {
    const status = statusOf(pid);
    return status === undefined || status.ending || status.started !== started;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
