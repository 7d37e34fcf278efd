/**
 * Visits all pages reachable from the start pages and yields them as they arrive. The limiter's limits per key apply to
 * each host; a host that answers 429 gets no request for as long as it says.
 *
 * Invariant: each URL is yielded once, and the crawl ends when none is left.
 */
import { Channel, type Limiter, retryAfter } from 'pointsman';

export interface Page {
  readonly url: string;
  /** 0 if the host answered none of the attempts. */
  readonly status: number;
  readonly html: string;
}

export interface CrawlOptions {
  /** Used only by this crawl. The key is the host. */
  readonly limiter: Limiter;
  /** Returns whether to visit a linked page. */
  readonly follow: (url: URL) => boolean;
  readonly signal?: AbortSignal;
}

const attempts = 5;

export async function* crawl(starts: string[], options: CrawlOptions): AsyncGenerator<Page> {
  const { limiter, follow } = options;
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, ...(options.signal ? [options.signal] : [])]);
  const pages = new Channel<Page>(10); // further pages wait until one of these is read
  const seen = new Set<string>();

  function add(url: URL): void {
    url.hash = '';
    if (seen.has(url.href)) return;
    seen.add(url.href);
    enqueue(url, 1);
  }

  // The limiter's queue is the crawl's frontier. Hosts take turns in it.
  function enqueue(url: URL, attempt: number): void {
    limiter
      .run(() => visit(url, attempt), { key: url.host, signal })
      .catch((error) => pages.close(error)); // the loop that reads the pages throws it
  }

  async function visit(url: URL, attempt: number): Promise<void> {
    let response = Response.error();
    let html = '';
    try {
      response = await fetch(url, { signal, redirect: 'manual' });
      html = await response.text();
    } catch (error) {
      if (signal.aborted) throw error;
    }
    // Retries a host that is busy or does not answer.
    if ((response.status === 429 || response.status === 0) && attempt < attempts) {
      limiter.penalize(retryAfter(response) ?? 1_000, url.host);
      enqueue(url, attempt + 1);
      return;
    }
    // A redirection counts as a link: its target may be another host.
    const links = [...html.matchAll(/<a\s[^>]*href="([^"]*)"/gi)].map(([, link]) => link);
    for (const link of [response.headers.get('location'), ...links]) {
      if (!link || !URL.canParse(link, url.href)) continue;
      const next = new URL(link, url);
      if (follow(next)) add(next);
    }
    await pages.send({ url: url.href, status: response.status, html }, { signal });
  }

  for (const start of starts) add(new URL(start));
  limiter.drain().then(() => pages.close());
  try {
    yield* pages;
  } finally {
    leaving.abort();
  }
}
