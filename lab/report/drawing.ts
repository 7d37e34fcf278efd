/**
 * Observable Plot without a browser: a document to draw into, and what every picture of the report
 * has in common.
 *
 * Invariant: a picture has no colour of its own; it takes the page's, so it follows light and dark.
 */
import * as Plot from '@observablehq/plot';
import { Window } from 'happy-dom';

const { document } = new Window();

export function draw(options: Plot.PlotOptions, description: string): string {
  const figure = Plot.plot({
    ...options,
    // happy-dom's document has all that Plot uses of a browser's.
    document: document as unknown as Document,
    style: { background: 'none', color: 'inherit', overflow: 'visible', fontSize: '12px' },
  });
  figure.setAttribute('role', 'img');
  figure.setAttribute('aria-label', description);
  return figure.outerHTML;
}

/**
 * Many dots as one path, in pixels: small enough that thousands of samples fit in a page. Dots
 * that would fall on the same spot are drawn once.
 */
export function dots(
  places: Iterable<readonly [x: number, y: number]>,
  className: string,
): Plot.Markish {
  return (_index, _scales, _values, _dimensions, context) => {
    const spots = new Set<string>();
    for (const [x, y] of places) spots.add(`M${x.toFixed(0)} ${y.toFixed(1)}h0`);
    // Few samples are all to be seen; many show by where they pile up.
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

/** Linear where all values are of one size, logarithmic where they are not. */
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

/** 1, 2, 5, 10, 20, 50 and so on, as far as they lie within. */
export function logarithmicTicks([low, high]: readonly [number, number]): number[] {
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high / low)) + 2 },
    (_, index) => 10 ** (Math.floor(Math.log10(low)) + index),
  );
  return decades
    .flatMap((decade) => [decade, 2 * decade, 5 * decade])
    .filter((tick) => tick >= low && tick <= high);
}
