/** Tasks that fail, one for each fault. Those that await are `async`, because poolifier looks for that keyword. */
import { setTimeout as pause } from 'node:timers/promises';

class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly code = 'E_TASK';
  readonly extra = { attempts: 3 };
}

export function throwCustom(): never {
  throw new TaskError('the task failed', { cause: new Error('the cause') });
}

export function exit(code: number): void {
  process.exit(code);
}

export function fillMemory(): number {
  const kept: object[] = [];
  for (;;) kept.push(Array.from({ length: 1_000 }, (_, index) => ({ index })));
}

export function loopForEver(): never {
  for (;;);
}

export function giveWeakMap(): WeakMap<object, string> {
  return new WeakMap();
}

export function throwLater(milliseconds: number): string {
  setTimeout(() => {
    throw new Error('thrown after the task');
  }, milliseconds);
  return 'done';
}

export async function leaveRejection(milliseconds: number): Promise<string> {
  Promise.reject(new Error('nobody awaits this'));
  await pause(milliseconds);
  return 'done';
}

export async function wait(milliseconds: number): Promise<string> {
  await pause(milliseconds);
  return 'done';
}
