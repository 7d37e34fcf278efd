/** Keys for the addresses of clients. */

/** The first 96 bits of an IPv6 address that stands for an IPv4 address: as a dual-stack socket or a NAT64 writes it. */
const embedding = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/**
 * Returns the key of a client's address. For IPv6 it is the network of 64 bits, because one client has all addresses of
 * such a network and could use a new one for each request. An IPv4 address is its own key, even if it is written as
 * IPv6, such as `::ffff:192.0.2.1`. Anything else is returned unchanged.
 *
 * @example
 * ```ts
 * import { addressKey } from 'pointsman/http';
 *
 * console.log(addressKey('2001:db8:0:1:2:3:4:5')); // 2001:db8:0:1::/64
 * console.log(addressKey('::ffff:192.0.2.1')); // 192.0.2.1
 * ```
 */
export function addressKey(address: string | null | undefined): string | undefined {
  const [plain = ''] = address?.split('%') ?? [];
  if (!/^[\da-f.]*:[\da-f:.]*$/i.test(plain)) return address ?? undefined;
  let canonical: string;
  try {
    canonical = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  } catch {
    return address as string;
  }
  const [before = [], after = []] = canonical
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  const groups = [...before, ...zeros, ...after];
  if (!embedding.includes(groups.slice(0, 6).join(':')))
    return `${groups.slice(0, 4).join(':')}::/64`;
  const halves = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return halves.flatMap((half) => [half >> 8, half & 255]).join('.');
}
