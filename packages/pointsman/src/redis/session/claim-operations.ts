/**
 * The operations by which a session asks how a claim stands.
 *
 * Invariant: of a claim at most one `lock` is without an answer, and whoever asked meanwhile is not left
 * with an answer from before.
 */

import type { RedisLockError } from '../errors.js';
import type { Grant } from '../protocol/protocol.js';
import type { PendingOperation } from './batches.js';
import type { ActiveClaim } from './claims.js';

/** What comes of a `lock`. */
export interface LockAnswers {
  /** `alarmed`: how this process would have heard of a loss of the state since. */
  held(grant: Grant, alarmed: number): void;
  /** `left`: milliseconds until the lease of a holder runs out. */
  queued(left: number): void;
  /** Queued, by an answer that may be older than what was heard since: a message may overtake it. */
  outdated(): void;
  busy(): void;
  refused(error: RedisLockError): void;
}

/** Undefined if there is one on its way: it will tell that its answer is outdated. */
export function lockOperation(
  active: ActiveClaim,
  answers: LockAnswers,
): PendingOperation | undefined {
  if (active.locking !== 'no') {
    active.locking = 'again';
    return undefined;
  }
  active.locking = 'once';
  const { id, claim } = active;
  const { tokens, wait, keys } = claim;
  const over = (): void => {
    active.locking = 'no';
  };
  return {
    operation: () => {
      if (active.state === 'asked') {
        // Nothing that was heard before it is sent, or sent again, can be newer than its answer.
        active.locking = 'once';
        return { name: 'lock', id, tokens, wait, keys, optional: active.chooseOptional() };
      }
      over();
      return undefined;
    },
    done: (result, alarmed) => {
      const outdated = active.locking === 'again';
      over();
      if (result.name === 'held') {
        answers.held(result.grant, alarmed);
      } else if (result.name === 'queued') {
        if (outdated && active.state === 'asked') answers.outdated();
        answers.queued(result.left);
      } else if (active.state === 'asked') {
        answers.busy();
      }
    },
    failed: (error) => {
      over();
      answers.refused(error);
    },
    lost: over,
  };
}

export interface CheckAnswers {
  /** Still held, and somebody waits for one of its keys. */
  contended(): void;
  /** The server no longer has the lock. */
  gone(): void;
}

export function checkOperation(active: ActiveClaim, answers: CheckAnswers): PendingOperation {
  const { id, claim } = active;
  return {
    operation: () =>
      active.state === 'held' ? { name: 'check', id, keys: claim.owned } : undefined,
    done: (result) => {
      if (result.name !== 'check' || active.state !== 'held') return;
      if (!result.held) answers.gone();
      else if (result.contended) answers.contended();
    },
    failed: () => {},
    lost: () => {},
  };
}
