/**
 * SHA-256 (FIPS 180-4) of short texts, at once: the platform's own digest answers a turn of the event loop later, which on
 * the way of every request costs more than the hash. For long bytes and for anything keyed the platform's is right.
 */

const PRIMES = firstPrimes(64);
const fraction = (value: number): number => Math.floor((value - Math.floor(value)) * 0x1_0000_0000) | 0;
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const BLOCK_BYTES = 64;
const encoder = new TextEncoder();
const schedule = new Int32Array(64);

/** 64 lower-case hex digits over the text in UTF-8. */
export function sha256Hex(text: string): string {
  const padded = padOf(encoder.encode(text));
  const state = START.slice();
  for (let at = 0; at < padded.byteLength; at += BLOCK_BYTES) compress(state, padded, at);
  let digits = "";
  for (const word of state) digits += (word >>> 0).toString(16).padStart(8, "0");
  return digits;
}

/** The message, a one bit, zeros, its length in bits. */
function padOf(message: Uint8Array): DataView {
  const size = Math.ceil((message.byteLength + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const padded = new Uint8Array(size);
  padded.set(message);
  padded[message.byteLength] = 0x80;
  const view = new DataView(padded.buffer);
  // the upper half of the length stays 0: no text is that long
  view.setUint32(size - 4, message.byteLength * 8);
  return view;
}

function compress(state: Int32Array, block: DataView, start: number): void {
  for (let at = 0; at < 16; at += 1) schedule[at] = block.getInt32(start + at * 4);
  for (let at = 16; at < 64; at += 1) {
    const early = word(schedule, at - 15);
    const late = word(schedule, at - 2);
    const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    schedule[at] = word(schedule, at - 16) + low + word(schedule, at - 7) + high;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
  for (let at = 0; at < 64; at += 1) {
    const mixed = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + mixed + ((e & f) ^ (~e & g)) + word(ROUND, at) + word(schedule, at)) | 0;
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, at) => {
    state[at] = word(state, at) + value;
  });
}

type Eight = [number, number, number, number, number, number, number, number];

function word(words: Int32Array, at: number): number {
  return words[at] ?? 0;
}

function turned(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let next = 2; primes.length < count; next += 1)
    if (primes.every((prime) => next % prime !== 0)) primes.push(next);
  return primes;
}
