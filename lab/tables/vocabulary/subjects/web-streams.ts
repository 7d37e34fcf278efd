import { defineSubject } from '../subject.js';

interface Channel {
  readonly readable: ReadableStream<number>;
  readonly writer: WritableStreamDefaultWriter<number> | undefined;
  readonly controller: ReadableStreamDefaultController<number> | undefined;
  reader: ReadableStreamDefaultReader<number> | undefined;
}

function buffered(highWaterMark: number): Channel {
  const { readable, writable } = new TransformStream<number, number>(undefined, undefined, {
    highWaterMark,
  });
  return { readable, writer: writable.getWriter(), controller: undefined, reader: undefined };
}

function unbounded(): Channel {
  let controller: ReadableStreamDefaultController<number> | undefined;
  const readable = new ReadableStream<number>({
    start(given) {
      controller = given;
    },
  });
  return { readable, writer: undefined, controller, reader: undefined };
}

export default defineSubject({
  name: 'web streams',
  role: 'peer',
  note: 'A TransformStream, whose write without a buffer waits for a read; for a burst a ReadableStream, whose controller enqueues.',
  load: async () => undefined,
  channel: {
    capacities: [0, 1, 10, 100, Number.POSITIVE_INFINITY],
    create: (_, capacity) => (Number.isFinite(capacity) ? buffered(capacity) : unbounded()),
    send: ({ writer }, value) => (writer as NonNullable<typeof writer>).write(value),
    push: ({ controller }, value) => controller?.enqueue(value),
    receive: (channel) => {
      channel.reader ??= channel.readable.getReader();
      return channel.reader.read();
    },
    value: ({ value }) => value as number,
    iterate: ({ readable }) => readable as unknown as AsyncIterable<number>,
    item: (value: number) => value,
    close: ({ writer, controller }) => (writer ? writer.close() : controller?.close()),
  },
});
