/** Sends mails: one a second, at most one at a time for each address. */
import { KeyedMutex, Limiter } from 'pointsman';

export class Mails {
  readonly limiter = new Limiter({ rate: { limit: 1, per: 1_000 } });
  readonly #addresses = new KeyedMutex<string>();
  readonly #deliver: (address: string, text: string) => Promise<void>;

  constructor(deliver: (address: string, text: string) => Promise<void>) {
    this.#deliver = deliver;
  }

  send(address: string, text: string): Promise<void> {
    return this.#addresses.run(address, () =>
      this.limiter.run(() => this.#deliver(address, text), { timeout: 60_000 }),
    );
  }
}
