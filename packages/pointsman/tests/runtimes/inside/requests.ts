/**
 * Requests from a test in workerd to its own worker, to observe what happens between requests: each has a context of
 * its own, and all share the module's variables.
 */

type Handler = (request: Request) => Promise<Response>;

interface Service {
  fetch(request: Request): Promise<Response>;
}

let service: Service | undefined;
const handlers = new Map<string, Handler>();

/** Called by the entry, which has its own worker as a service. */
export function connect(self: Service): void {
  service = self;
}

/** The handler that a test has registered for the path of a request. */
export function handlerOf(request: Request): Handler | undefined {
  return handlers.get(new URL(request.url).pathname);
}

export function handle(path: string, handler: Handler): void {
  handlers.set(path, handler);
}

export async function request(path: string): Promise<Response> {
  if (!service) throw new Error('requests are for tests in workerd');
  return service.fetch(new Request(`http://tests${path}`));
}
