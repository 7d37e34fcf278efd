/** Runs in the pool's threads: decodes a JPEG, scales it down and encodes it again, in JavaScript only. */
import jpeg from 'jpeg-js';
import { task, transfer } from 'pointsman/pool';

/** Scales to at most `width` pixels, with the same proportions. */
export function thumbnail(image: Uint8Array, width: number) {
  const source = decode(image);
  const scale = Math.max(1, source.width / width);
  const target = {
    width: Math.max(1, Math.round(source.width / scale)),
    height: Math.max(1, Math.round(source.height / scale)),
  };
  const data = new Uint8Array(target.width * target.height * 4);
  for (let y = 0; y < target.height; y++) {
    task.signal.throwIfAborted(); // the client has left, or it takes too long
    const top = Math.floor(y * scale);
    const bottom = Math.min(source.height, Math.ceil((y + 1) * scale));
    for (let x = 0; x < target.width; x++) {
      const left = Math.floor(x * scale);
      const right = Math.min(source.width, Math.ceil((x + 1) * scale));
      const pixel = average(source, left, top, right, bottom);
      data.set(pixel, (y * target.width + x) * 4);
    }
  }
  // The encoder's buffer may be a view of a larger one, which cannot be transferred.
  const result = new Uint8Array(jpeg.encode({ ...target, data }, 80).data);
  return transfer(result, [result.buffer]);
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

function decode(image: Uint8Array): Pixels {
  try {
    // A small file can claim to be a very large image.
    return jpeg.decode(image, { useTArray: true, maxResolutionInMP: 50, maxMemoryUsageInMB: 512 });
  } catch (cause) {
    throw Object.assign(new Error('This is not a JPEG image', { cause }), { code: 'BAD_IMAGE' });
  }
}

function average(
  { data, width }: Pixels,
  left: number,
  top: number,
  right: number,
  bottom: number,
): [red: number, green: number, blue: number, alpha: number] {
  let red = 0;
  let green = 0;
  let blue = 0;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const at = (y * width + x) * 4;
      red += data[at] ?? 0;
      green += data[at + 1] ?? 0;
      blue += data[at + 2] ?? 0;
    }
  }
  const count = (right - left) * (bottom - top);
  return [red / count, green / count, blue / count, 255];
}
