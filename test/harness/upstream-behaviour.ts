/**
 * What a test upstream can do, good and bad, as words joined by `,`:
 * - before any answer: `hang`, `reset`, `nonsense` (bytes that are no HTTP), `delay=<ms>`;
 * - an answer: `status=<n>`, `retry-after=<text>`, `says` (headers about limits and the request), `error=<n>` (200 with an error
 *   that names this status, in a document or as the first event), `empty-reset` (the head of a 200, and then a reset), `endless` (an error body that never ends), `no-options` (400, or
 *   `refuse=<n>`, when the usage option is there), `newer-limit` (400 when `max_tokens` is there), `no-usage`, `in=<n>` and `out=<n>` (the tokens that it reports), `mb=<n>` (a long answer), `gzip`, `half` (a body cut in its middle);
 * - a stream: `chunks=<n>`, `pace=<ms>`, `bytes` (one at a time), `cut`, `cut-mid` (within an event), `late-error` (an event with an error), `stall`, `garbage`;
 * - `fails=<n>`: all this for the first n requests only; later ones are answered well.
 */

export interface Behaviour {
  readonly words: ReadonlySet<string>;
  readonly number: (name: string, fallback: number) => number;
  readonly text: (name: string) => string | undefined;
}

export function behaviourOf(words: string): Behaviour {
  const list = words.split(",");
  const text = (name: string): string | undefined =>
    list.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  return { words: new Set(list), text, number: (name, fallback) => Number(text(name) ?? fallback) };
}

/** The behaviour of the request that comes after `earlier` others. */
export function behaviourNow(behaviour: Behaviour, earlier: number): Behaviour {
  return earlier < behaviour.number("fails", Number.POSITIVE_INFINITY) ? behaviour : behaviourOf("plain");
}
