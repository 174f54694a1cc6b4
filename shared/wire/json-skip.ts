/**
 * Skips unexamined parts of JSON bytes: strings, and lists of numbers. Bytes may be cut anywhere. Time is linear in the bytes.
 */
import { BACKSLASH, QUOTE } from "./ascii.ts";

/** The result of {@link stringEnd} for a string that continues: outside escapes, or after the backslash of one. */
const IN_STRING = -1;
export const IN_ESCAPE = -2;

/** This many bytes of a string are skipped one by one: starting a search costs more. */
const NEAR_BYTES = 128;

/**
 * Where a string ends, read from a place in it outside escapes: after its closing quote, or, if it continues at `to`, {@link
 * IN_STRING} or {@link IN_ESCAPE}.
 */
export function stringEnd(bytes: Uint8Array, from: number, to = bytes.byteLength): number {
  for (let at = from; at < to; ) {
    const far = Math.min(at + NEAR_BYTES, to);
    while (at < far) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    if (at > to) return IN_ESCAPE;
    // for a long string (an image) the engine searches for the quote
    const quote = (to === bytes.byteLength ? bytes : bytes.subarray(0, to)).indexOf(QUOTE, at);
    if (quote === -1) return backslashesBefore(bytes, to, at) % 2 === 0 ? IN_STRING : IN_ESCAPE;
    if (backslashesBefore(bytes, quote, at) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  return IN_STRING;
}

/** How many backslashes stand right before `at`, none of them before `from`. */
export function backslashesBefore(bytes: Uint8Array, at: number, from: number): number {
  let count = 0;
  while (at - 1 - count >= from && bytes[at - 1 - count] === BACKSLASH) count += 1;
  return count;
}

/** Bytes of numbers in a list, and bytes between them. */
const OF_NUMBERS = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[-+.,\d\seE]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Whether a byte belongs to a number in a list, or is between two. */
export function isOfNumbers(byte: number): boolean {
  return OF_NUMBERS[byte] === 1;
}

/** Where something else than numbers, blanks and commas comes, or `to`: a list of numbers may be most of a document. */
export function numbersEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && OF_NUMBERS[bytes[at] ?? 0] === 1) at += 1;
  return at;
}
