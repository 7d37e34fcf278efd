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
  'keeps one value too many': {
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
  'lets a sender in only when nothing is kept': {
    fails: ['channel/order.yaml', 'channel/many.yaml', 'channel/closing.yaml'],
    channel: class extends ModelChannel {
      protected override fill() {
        if (this.receivers.length > 0 || this.buffer.length === 0) super.fill();
      }
    },
  },
  'lets no sender in when a try makes room': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override tryReceive() {
        return this.buffer.length > 0 ? this.buffer.shift() : super.tryReceive();
      }
    },
  },
  'serves the last of those who wait': {
    fails: ['channel/order.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'lets a try take the room of those who wait': {
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
  'says of a channel that has ended that it is empty': {
    fails: ['channel/try.yaml'],
    channel: class extends ModelChannel {
      override tryReceive() {
        return this.end && this.buffer.length === 0 ? undefined : super.tryReceive();
      }
    },
  },
  'gives the same value to all who wait': {
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
  'lets a sender go before its value was taken': {
    fails: ['channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      override async send(request: SendRequest) {
        const sent = super.send(request);
        if (this.capacity > 0 || request.signal?.aborted || this.end) return sent;
        void sent.catch(() => undefined);
      }
    },
  },
  'sends the value of whoever gave up': {
    fails: ['channel/giving-up.yaml', 'channel/rendezvous.yaml', 'channel/closing.yaml'],
    channel: class extends ModelChannel {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const isSender = queue === (this.senders as unknown);
        super.leave(queue, waiter);
        if (isSender) this.buffer.push(waiter.item as Value);
      }
    },
  },
  'gives a value to whoever gave up': {
    fails: ['channel/giving-up.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        if (queue !== (this.receivers as unknown)) super.leave(queue, waiter);
      }
    },
  },
  'throws away at a close what it keeps': {
    fails: ['channel/closing.yaml', 'channel/try.yaml'],
    channel: class extends ModelChannel {
      override close(reason?: unknown) {
        this.buffer = [];
        super.close(reason);
      }
    },
  },
  'lets senders in after a close': {
    fails: ['channel/closing.yaml'],
    channel: class extends ModelChannel {
      override close(reason: unknown = new ModelError('closed')) {
        this.end ??= { reason };
        for (const waiter of this.receivers.splice(0)) waiter.refuse(reason);
      }
    },
  },
  'tells one receiver of the end': {
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
  'takes all there are': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      protected override nextMany() {
        return super.nextMany(Number.POSITIVE_INFINITY);
      }
    },
  },
  'leaves those who wait to send': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      protected override nextMany(max: number) {
        return super.nextMany(Math.min(max, this.buffer.length));
      }
    },
  },
  'takes none of many': {
    fails: ['channel/many.yaml'],
    channel: class extends ModelChannel {
      override async receiveMany(request: ReceiveRequest) {
        return request.max === 0 ? [] : super.receiveMany(request);
      }
    },
  },
  'waits for room, whatever it was told': {
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
  'refuses where somebody waits for the value': {
    fails: ['channel/when-full.yaml', 'channel/rendezvous.yaml'],
    channel: class extends ModelChannel {
      protected override hasRoom() {
        return this.buffer.length < this.capacity;
      }
    },
  },
};
