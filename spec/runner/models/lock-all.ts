/** The model of locking several keys, all or none. */
import type { AcquireRequest, Counters, Guard, Subject, TryRequest } from '../implementation.js';
import { closed, ModelGuard, ModelWaiting, type Waiter } from './waiting.js';

export class ModelLockAll extends ModelWaiting implements Subject {
  protected readonly held = new Set<string>();
  /** The waiters, with their keys. */
  protected queue: Waiter<readonly string[], Guard>[] = [];
  protected end: { reason: unknown } | undefined;

  acquire(request: AcquireRequest): Promise<Guard> {
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    if (this.end) return Promise.reject(this.end.reason);
    return this.queueUp(request, this.queue, request.keys ?? []);
  }

  tryAcquire({ keys = [] }: TryRequest): Guard | undefined {
    if (this.end) throw this.end.reason;
    const wanted = new Set([...this.held, ...this.queue.flatMap(({ item }) => item)]);
    return keys.some((key) => wanted.has(key)) ? undefined : this.take(keys);
  }

  close(reason: unknown = closed()): void {
    if (this.end) return;
    this.end = { reason };
    for (const waiter of this.queue.splice(0)) waiter.refuse(reason);
  }

  observe(): Counters {
    const keys = new Set([...this.held, ...this.queue.flatMap(({ item }) => item)]);
    return { keys, closed: this.end !== undefined };
  }

  /** Serves in FIFO order: a waiter blocks later requests for any of its keys. */
  protected override serve(): void {
    const taken = new Set(this.held);
    for (const waiter of [...this.queue]) {
      const mayGo = this.mayGo(waiter.item, taken);
      for (const key of waiter.item) taken.add(key);
      if (!mayGo) continue;
      this.queue.splice(this.queue.indexOf(waiter), 1);
      waiter.grant(this.take(waiter.item));
    }
  }

  protected mayGo(keys: readonly string[], taken: ReadonlySet<string>): boolean {
    return keys.every((key) => !taken.has(key));
  }

  protected take(keys: readonly string[]): Guard {
    for (const key of keys) this.held.add(key);
    return new ModelGuard(() => this.giveBack(keys));
  }

  protected giveBack(keys: readonly string[]): void {
    for (const key of keys) this.held.delete(key);
    this.serve();
  }
}
