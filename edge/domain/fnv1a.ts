/**
 * FNV-1a, 64 bit, over bytes (http://www.isthe.com/chongo/tech/comp/fnv/), in two 32-bit halves because BigInt would cost
 * a millisecond on 8 KiB. Not for secrets.
 */

const OFFSET_HIGH = 0xcbf29ce4;
const OFFSET_LOW = 0x84222325;
/** The 64-bit prime is 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3;
const TWO_32 = 0x100000000;

/** 16 lower-case hex digits over the parts, one after the other. */
export function fnv1a64(parts: readonly Uint8Array[]): string {
  let high = OFFSET_HIGH;
  let low = OFFSET_LOW;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += 1) {
      const mixed = (low ^ (part[at] ?? 0)) >>> 0;
      const product = mixed * PRIME_LOW;
      high = (Math.imul(high, PRIME_LOW) + Math.floor(product / TWO_32) + (mixed << 8)) >>> 0;
      low = product >>> 0;
    }
  }
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}
