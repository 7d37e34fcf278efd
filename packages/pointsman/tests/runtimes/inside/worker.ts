/**
 * The entry in workerd: everything runs inside one request, and the response is the output. The tests are also loaded
 * there, because workerd allows no timer outside a request.
 */
import { connect, handlerOf } from './requests.js';

export default {
  async fetch(request: Request, bindings: { self: typeof globalThis }): Promise<Response> {
    const handler = handlerOf(request);
    if (handler) return handler(request);
    connect(bindings.self);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    const report = (line: string) => void writer.write(encoder.encode(`${line}\n`));
    import('./run.js')
      .then(({ run }) => run(report))
      .catch((error) => report(`${error}\n${error?.stack}`))
      .finally(() => writer.close());
    return new Response(readable);
  },
};
