/**
 * A histogram of durations. Count, mean and maximum are exact; quantiles are within about 3 %.
 *
 * There are 16 buckets per power of two, from 1 microsecond to 12 days. Shorter durations count as 0 in quantiles;
 * longer ones are in the last bucket. The bucket is read from the bits of a 32-bit float: the exponent is the power of
 * two, and the four highest bits of the mantissa are the sixteenth.
 *
 * Invariant: the counts of the buckets add up to `count`.
 */

/** A summary of durations in milliseconds. */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const powers = 40;

/** Single precision fits one word, so byte order does not matter. */
const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** Removes all bits but the exponent and the sixteenth. */
const shift = 23 - 4;

/** 1 microsecond is in bucket 1; bucket 0 is for shorter durations. */
const offset = (127 << 4) - 1;

export class Histogram {
  // A million tasks a second would overflow 32-bit integers within hours.
  readonly #counts = new Float64Array(1 + powers * 16);
  #count = 0;
  #sum = 0;
  #max = 0;

  /** Records a duration. A negative one, from a clock that was set back, and NaN count as 0. */
  record(milliseconds: number): void {
    const time = Math.max(milliseconds || 0, 0);
    float[0] = time * 1000;
    const bucket = ((word[0] as number) >>> shift) - offset;
    const index = Math.min(Math.max(bucket, 0), powers * 16);
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#count += 1;
    this.#sum += time;
    if (time > this.#max) this.#max = time;
  }

  summary(): Summary {
    return {
      count: this.#count,
      mean: this.#count === 0 ? 0 : this.#sum / this.#count,
      p50: this.#quantile(0.5),
      p99: this.#quantile(0.99),
      max: this.#max,
    };
  }

  /** Returns the middle of the bucket that contains the quantile. */
  #quantile(share: number): number {
    let rest = Math.ceil(this.#count * share);
    let index = 0;
    while (rest > (this.#counts[index] as number)) {
      rest -= this.#counts[index] as number;
      index += 1;
    }
    if (index === 0) return 0;
    const sixteenths = 16 + ((index - 1) % 16);
    const microseconds = (2 ** Math.floor((index - 1) / 16) * (sixteenths + 0.5)) / 16;
    return Math.min(microseconds / 1000, this.#max);
  }
}
