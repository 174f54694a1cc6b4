/**
 * Synchronous SHA-256 (FIPS 180-4) of short texts. The platform's own digest returns one turn of the event loop later,
 * which costs more than the hash when every request needs it. For long input and for HMAC, use the platform's.
 */

const PRIMES = firstPrimes(64);
const fraction = (value: number): number => Math.floor((value - Math.floor(value)) * 0x1_0000_0000) | 0;
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const BLOCK_BYTES = 64;
const encoder = new TextEncoder();
const schedule = new Int32Array(64);
const state = new Int32Array(8);
/** Reused for every short text while it is hashed. */
const short = new DataView(new ArrayBuffer(8 * BLOCK_BYTES));

/** The digest of the text in UTF-8: 64 lower-case hex digits. */
export function sha256Hex(text: string): string {
  const { padded, size } = paddedOf(text);
  state.set(START);
  for (let at = 0; at < size; at += BLOCK_BYTES) compress(padded, at);
  if (padded === short) new Uint8Array(short.buffer).fill(0, 0, size); // a secret must not stay in memory
  let digits = "";
  for (const word of state) digits += (word >>> 0).toString(16).padStart(8, "0");
  return digits;
}

/** The padded message in the first `size` bytes: the text, a one bit, zeros, the length in bits. */
function paddedOf(text: string): { readonly padded: DataView; readonly size: number } {
  // a UTF-16 unit becomes at most three bytes
  const fits = 3 * text.length + 9 <= short.byteLength;
  const long = fits ? null : encoder.encode(text);
  const length = long === null ? encoder.encodeInto(text, new Uint8Array(short.buffer)).written : long.byteLength;
  const size = Math.ceil((length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const padded = long === null ? short : new DataView(new ArrayBuffer(size));
  if (long !== null) new Uint8Array(padded.buffer).set(long);
  padded.setUint8(length, 0x80);
  // the upper half of the length stays 0: no text is that long
  padded.setUint32(size - 4, length * 8);
  return { padded, size };
}

function compress(block: DataView, start: number): void {
  for (let at = 0; at < 16; at += 1) schedule[at] = block.getInt32(start + at * 4);
  for (let at = 16; at < 64; at += 1) {
    const early = word(schedule, at - 15);
    const late = word(schedule, at - 2);
    const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    schedule[at] = word(schedule, at - 16) + low + word(schedule, at - 7) + high;
  }
  let [a, b, c, d, e, f, g, h] = [
    word(state, 0),
    word(state, 1),
    word(state, 2),
    word(state, 3),
    word(state, 4),
    word(state, 5),
    word(state, 6),
    word(state, 7),
  ];
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
  state[0] = word(state, 0) + a;
  state[1] = word(state, 1) + b;
  state[2] = word(state, 2) + c;
  state[3] = word(state, 3) + d;
  state[4] = word(state, 4) + e;
  state[5] = word(state, 5) + f;
  state[6] = word(state, 6) + g;
  state[7] = word(state, 7) + h;
}

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
