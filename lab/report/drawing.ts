/**
 * Observable Plot without a browser, and the common parts of all pictures.
 *
 * Invariant: a picture uses only the page's colours, so it follows light and dark mode.
 */
import * as Plot from '@observablehq/plot';
import { Window } from 'happy-dom';

const { document } = new Window();

export function draw(options: Plot.PlotOptions, description: string): string {
  const figure = Plot.plot({
    ...options,
    // happy-dom implements everything that Plot needs of a document.
    document: document as unknown as Document,
    style: { background: 'none', color: 'inherit', overflow: 'visible', fontSize: '12px' },
  });
  figure.setAttribute('role', 'img');
  figure.setAttribute('aria-label', description);
  return figure.outerHTML;
}

/**
 * Draws many dots as one path, so that thousands of samples fit in a page. Dots at the same pixel are drawn once.
 */
export function dots(
  places: Iterable<readonly [x: number, y: number]>,
  className: string,
): Plot.Markish {
  return (_index, _scales, _values, _dimensions, context) => {
    const spots = new Set<string>();
    for (const [x, y] of places) spots.add(`M${x.toFixed(0)} ${y.toFixed(1)}h0`);
    // Few samples are all visible; many show their density.
    const density = spots.size > 60 ? 'many' : 'few';
    const path = context.ownerSVGElement.ownerDocument.createElementNS(
      'http://www.w3.org/2000/svg',
      'path',
    );
    path.setAttribute('class', `dots ${density} ${className}`);
    path.setAttribute('d', [...spots].join(''));
    return path;
  };
}

/** Linear for values of similar size, otherwise logarithmic. */
export function valueScale(values: readonly number[]): Plot.ScaleOptions & {
  readonly domain: [low: number, high: number];
} {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const spread = high - low || Math.abs(high) || 1;
  return low > 0 && high / low > 5
    ? { type: 'log', domain: [low / 1.1, high * 1.1] }
    : { type: 'linear', domain: [low - spread * 0.05, high + spread * 0.05] };
}

/** The ticks 1, 2, 5, 10, 20, 50 and so on within the domain; only powers of ten if those are more than `max`. */
export function logarithmicTicks(
  [low, high]: readonly [number, number],
  max = Number.POSITIVE_INFINITY,
): number[] {
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high / low)) + 2 },
    (_, index) => 10 ** (Math.floor(Math.log10(low)) + index),
  );
  const within = (ticks: number[]) => ticks.filter((tick) => tick >= low && tick <= high);
  const all = within(decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]));
  if (all.length <= max) return all;
  const powers = within(decades);
  const step = Math.ceil(powers.length / max);
  return powers.filter((power) => Math.round(Math.log10(power)) % step === 0);
}
