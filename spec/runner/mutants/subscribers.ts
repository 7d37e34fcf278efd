/** Mistakes in a broadcast and a watch. */
import type { Guard, SendRequest, WaitRequest } from '../implementation.js';
import { ModelBroadcast, ModelSubscriber, ModelWatch, type Seen } from '../models/subscribers.js';
import type { Waiter } from '../models/waiting.js';
import type { Value } from '../scenario.js';
import type { Mutants } from './mutant.js';

/** A broadcast with a mistake in its subscribers. */
const withSubscriber = (Subscriber: typeof ModelSubscriber) =>
  class extends ModelBroadcast {
    override subscribe() {
      return new Subscriber(this);
    }
  };

export const broadcastMutants: Mutants = {
  'gives each value to one receiver': {
    fails: ['broadcast/values.yaml', 'broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: class extends ModelBroadcast {
      override async send({ value }: SendRequest) {
        const [first] = this.subscribers;
        if (this.end) return super.send({ value });
        first?.push(value);
      }
    },
  },
  'gives the last value to a new receiver': {
    fails: ['broadcast/values.yaml'],
    broadcast: class extends ModelBroadcast {
      protected last: Value | undefined;
      override async send(request: SendRequest) {
        await super.send(request);
        this.last = request.value;
      }
      override subscribe() {
        const subscriber = new ModelSubscriber(this);
        if (this.last !== undefined) subscriber.push(this.last);
        return subscriber;
      }
    },
  },
  'counts a closed receiver': {
    fails: ['broadcast/values.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        override release() {}
      },
    ),
  },
  'accepts a capacity of 0': {
    fails: ['broadcast/values.yaml'],
    broadcast: class extends ModelBroadcast {
      constructor(...[capacity, clock]: ConstructorParameters<typeof ModelBroadcast>) {
        super(capacity || 1, clock);
      }
    },
  },
  'buffers more than the capacity': {
    fails: ['broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        override push(value: Value) {
          this.kept.push(value);
          this.serve();
        }
      },
    ),
  },
  'reports no missed values': {
    fails: ['broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        protected override checkMissed() {}
      },
    ),
  },
  'refuses a lagging receiver more than once': {
    fails: ['broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        protected override checkMissed() {
          const { missed } = this;
          try {
            super.checkMissed();
          } finally {
            this.missed = missed;
          }
        }
      },
    ),
  },
  'continues with the newest value after a lag': {
    fails: ['broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        protected override checkMissed() {
          if (this.missed > 0) this.kept.splice(0, this.kept.length - 1);
          super.checkMissed();
        }
      },
    ),
  },
  'miscounts by one': {
    fails: ['broadcast/lag.yaml', 'broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        protected override checkMissed() {
          if (this.missed > 0) this.missed += 1;
          super.checkMissed();
        }
      },
    ),
  },
  'gives a value to a cancelled receive': {
    fails: ['broadcast/cancellation.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        protected override leave() {}
      },
    ),
  },
  'discards the buffered values of a closed broadcast': {
    fails: ['broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        override close() {
          this.kept.length = 0;
          super.close();
        }
      },
    ),
  },
  'lets receivers wait forever after a close': {
    fails: ['broadcast/closing.yaml'],
    broadcast: withSubscriber(
      class extends ModelSubscriber {
        override close() {}
      },
    ),
  },
  'forgets why the broadcast was closed': {
    fails: ['broadcast/closing.yaml'],
    broadcast: class extends ModelBroadcast {
      override close() {
        super.close();
      }
    },
  },
};

export const watchMutants: Mutants = {
  'treats the value at the subscription as a change': {
    fails: ['watch/changes.yaml', 'watch/cancellation.yaml'],
    watch: class extends ModelWatch {
      override subscribe() {
        return Object.assign(super.subscribe(), { version: -1 });
      }
    },
  },
  'reports a change twice': {
    fails: ['watch/changes.yaml', 'watch/closing.yaml', 'watch/cancellation.yaml'],
    watch: class extends ModelWatch {
      protected override isNew(seen: Seen) {
        return this.version > 0 && seen.version <= this.version;
      }
    },
  },
  'returns the first overwritten value': {
    fails: ['watch/changes.yaml'],
    watch: class extends ModelWatch {
      override async send({ value }: SendRequest) {
        const first = this.version > 0 && this.queue.length === 0 ? this.value : value;
        await super.send({ value: first });
      }
    },
  },
  'ignores an equal value': {
    fails: ['watch/changes.yaml'],
    watch: class extends ModelWatch {
      override async send(request: SendRequest) {
        if (request.value !== this.value) await super.send(request);
      }
    },
  },
  'wakes only one receiver': {
    fails: ['watch/changes.yaml'],
    watch: class extends ModelWatch {
      protected override serve() {
        const others = this.queue.splice(1);
        super.serve();
        this.queue.push(...others);
      }
    },
  },
  'marks a value as seen for all receivers': {
    fails: ['watch/changes.yaml', 'watch/cancellation.yaml'],
    watch: class extends ModelWatch {
      protected readonly one = new Map<ModelWatch, Seen>();
      override changed(request: WaitRequest, held: Guard) {
        const seen = this.one.get(this) ?? (held as unknown as Seen);
        this.one.set(this, seen);
        return super.changed(request, seen as unknown as Guard);
      }
    },
  },
  'counts a closed receiver of a watch': {
    fails: ['watch/changes.yaml'],
    watch: class extends ModelWatch {
      override observe() {
        return { ...super.observe(), subscribed: this.version + 2 };
      }
    },
  },
  'marks a change after a cancellation as seen': {
    fails: ['watch/cancellation.yaml'],
    watch: class extends ModelWatch {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        super.leave(queue, waiter);
        (waiter.item as Seen).version += 1;
      }
    },
  },
  'sends after a close': {
    fails: ['watch/closing.yaml'],
    watch: class extends ModelWatch {
      override async send({ value }: SendRequest) {
        this.value = value;
      }
    },
  },
  'refuses before the last value was seen': {
    fails: ['watch/closing.yaml'],
    watch: class extends ModelWatch {
      override async changed(request: WaitRequest, held: Guard) {
        if (this.end) throw this.end.reason;
        return super.changed(request, held);
      }
    },
  },
  'lets a watch receiver wait forever after a close': {
    fails: ['watch/closing.yaml'],
    watch: class extends ModelWatch {
      override close(reason?: unknown) {
        const { queue } = this;
        this.queue = [];
        super.close(reason);
        this.queue = queue;
      }
    },
  },
};
