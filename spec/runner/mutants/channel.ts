/** Mistakes in a channel. */
import type { ReceiveRequest, SendRequest } from '../implementation.js';
import { ModelChannel } from '../models/channel.js';
import { ModelError, type Waiter } from '../models/waiting.js';
import type { Value } from '../scenario.js';
import type { Mutants } from './mutant.js';

export const channelMutants: Mutants = {
  'gives the last value first': {
    fails: ['channel/order.yaml', 'channel/many.yaml', 'channel/closing.yaml'],
    channel: class extends ModelChannel {
      protected override next() {
        return this.buffer.length > 0 ? this.buffer.pop() : super.next();
      }
    },
  },
  'buffers one value too many': {
    fails: ['channel/order.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override fill() {
        const sender = this.senders.shift();
        if (!sender) return;
        this.buffer.push(sender.item);
        sender.grant();
      }
    },
  },
  'admits a sender only when the buffer is empty': {
    fails: ['channel/order.yaml', 'channel/many.yaml', 'channel/closing.yaml'],
    channel: class extends ModelChannel {
      protected override fill() {
        if (this.receivers.length > 0 || this.buffer.length === 0) super.fill();
      }
    },
  },
  'admits no sender when a try makes space': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override tryReceive() {
        return this.buffer.length > 0 ? this.buffer.shift() : super.tryReceive();
      }
    },
  },
  'serves the last channel waiter first': {
    fails: ['channel/order.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'lets a try take the space of a waiting sender': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override trySend({ value }: SendRequest) {
        if (this.senders.length > 0 && !this.end) this.buffer.push(value);
        return this.senders.length > 0 || super.trySend({ value });
      }
    },
  },
  'lets a try send after a close': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override trySend({ value }: SendRequest) {
        if (this.end) this.buffer.push(value);
        return this.end !== undefined || super.trySend({ value });
      }
    },
  },
  'reports a closed channel as empty': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override tryReceive() {
        return this.end && this.buffer.length === 0 ? undefined : super.tryReceive();
      }
    },
  },
  'gives the same value to all waiting receivers': {
    fails: ['channel/order.yaml'],
    channel: class extends ModelChannel {
      protected override serve() {
        const [value] = this.senders.map(({ item }) => item);
        const others = value === undefined ? [] : this.receivers.splice(1);
        super.serve();
        for (const waiter of others) waiter.grant(value);
      }
    },
  },
  'resolves a sender before its value was received': {
    fails: ['channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      override async send(request: SendRequest) {
        const sent = super.send(request);
        if (this.capacity > 0 || request.signal?.aborted || this.end) return sent;
        void sent.catch(() => undefined);
      }
    },
  },
  'sends the value of a cancelled sender': {
    fails: ['channel/cancellation.yaml', 'channel/rendezvous.yaml', 'channel/closing.yaml'],
    channel: class extends ModelChannel {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const isSender = queue === (this.senders as unknown);
        super.leave(queue, waiter);
        if (isSender) this.buffer.push(waiter.item as Value);
      }
    },
  },
  'gives a value to a cancelled receiver': {
    fails: ['channel/cancellation.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        if (queue !== (this.receivers as unknown)) super.leave(queue, waiter);
      }
    },
  },
  'discards buffered values at a close': {
    fails: ['channel/closing.yaml', 'channel/try.yaml'],
    channel: class extends ModelChannel {
      override close(reason?: unknown) {
        this.buffer = [];
        super.close(reason);
      }
    },
  },
  'admits waiting senders after a close': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override close(reason: unknown = new ModelError('closed')) {
        this.end ??= { reason };
        for (const waiter of this.receivers.splice(0)) waiter.refuse(reason);
      }
    },
  },
  'refuses only one receiver at a close': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override close(reason?: unknown) {
        const later = this.receivers.splice(1);
        super.close(reason);
        this.receivers.push(...later);
      }
    },
  },
  'forgets why the channel was closed': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override close() {
        super.close();
      }
    },
  },
  'lets the last close of a channel decide': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override close(reason?: unknown) {
        this.end = undefined;
        super.close(reason);
      }
    },
  },
  'discards nothing': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override discard(reason?: unknown) {
        this.close(reason);
      }
    },
  },
  'waits until it has as many as it may take': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      override async receiveMany(request: ReceiveRequest) {
        const { max = 1 } = request;
        const values: unknown[] = [];
        while (values.length < max) values.push(await this.receive(request));
        return values;
      }
    },
  },
  'takes more than the maximum': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      protected override nextMany() {
        return super.nextMany(Number.POSITIVE_INFINITY);
      }
    },
  },
  'ignores waiting senders': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      protected override nextMany(max: number) {
        return super.nextMany(Math.min(max, this.buffer.length));
      }
    },
  },
  'accepts a maximum of 0': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      override async receiveMany(request: ReceiveRequest) {
        return request.max === 0 ? [] : super.receiveMany(request);
      }
    },
  },
  'ignores when-full and waits': {
    fails: ['channel/when-full.yaml'],
    channel: class extends ModelChannel {
      constructor(...[setup, clock]: ConstructorParameters<typeof ModelChannel>) {
        super(setup, clock);
      }
    },
  },
  'drops the newest instead of the oldest': {
    fails: ['channel/when-full.yaml'],
    channel: class extends ModelChannel {
      override async send(request: SendRequest) {
        if (this.hasRoom() || this.whenFull !== 'drop-oldest') await super.send(request);
      }
    },
  },
  'refuses although a receiver waits': {
    fails: ['channel/when-full.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override hasRoom() {
        return this.buffer.length < this.capacity;
      }
    },
  },
};
