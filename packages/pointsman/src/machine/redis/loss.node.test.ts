/**
 * Locks that are lost: their holders are told in time, whoever waits is served in the end, and no lock
 * is handed out that is not held.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  short,
  soon,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
  ways,
} from '../../../tests/redis/scene.js';
import { LockLostError, type RedisGuard } from './index.js';

const scene = useServer();
const { server } = {
  get server() {
    return scene.server;
  },
};

/** Resolves when the guard says that it is lost. */
async function untilLost(guard: RedisGuard): Promise<void> {
  const { signal } = guard;
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
}

function expectLost(guard: RedisGuard) {
  expect(guard.signal.aborted).toBe(true);
  expect(guard.signal.reason).toBeInstanceOf(LockLostError);
  expect(guard).toMatchObject({ valid: false, released: false });
  expect(() => guard.assertValid()).toThrow(LockLostError);
}
