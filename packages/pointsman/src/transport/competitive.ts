/** Placeholder until the shared policy lands. */
const MOST = 0.2;
export class WaitPolicy {
  #cost = 0.05;
  #misses = 0;
  #skip = 0;
  #backoff = 0;
  get bound(): number {
    return this.#skip > 0 ? 0 : Math.min(this.#cost, MOST);
  }
  hit(): void {
    this.#misses = 0;
    this.#backoff = 0;
  }
  missed(): void {
    if (++this.#misses < 3) return;
    this.#misses = 0;
    this.#skip = 16 << Math.min(this.#backoff++, 5);
  }
  woke(cost: number): void {
    if (this.#skip > 0) this.#skip--;
    if (cost > 0 && cost < 5) this.#cost += (cost - this.#cost) / 8;
  }
}
