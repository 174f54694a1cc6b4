/**
 * FNV-1a, 64 bit, over bytes (http://www.isthe.com/chongo/tech/comp/fnv/), in four 16-bit quarters: they stay within the
 * engine's small whole numbers, where BigInt would cost a millisecond on 8 KiB. Not for secrets.
 */

/** The 64-bit prime is 2^40 + 0x1b3: the part above the low one is a shift by two quarters and a byte. */
const PRIME_LOW = 0x1b3;

/** 16 lower-case hex digits over the parts, one after the other. */
export function fnv1a64(parts: readonly Uint8Array[]): string {
  let top = 0xcbf2;
  let high = 0x9ce4;
  let low = 0x8422;
  let bottom = 0x2325;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += 1) {
      const mixed = bottom ^ (part[at] ?? 0);
      const first = mixed * PRIME_LOW;
      const second = low * PRIME_LOW + (first >>> 16);
      const third = high * PRIME_LOW + (mixed << 8) + (second >>> 16);
      top = (top * PRIME_LOW + (low << 8) + (third >>> 16)) & 0xffff;
      high = third & 0xffff;
      low = second & 0xffff;
      bottom = first & 0xffff;
    }
  }
  return [top, high, low, bottom].map((quarter) => quarter.toString(16).padStart(4, "0")).join("");
}
