/**
 * The text that guardrails are measured with: English and code as a support assistant gets them, in which the scanners
 * find nothing but have much to look at (numbers, addresses without a host, words of attacks in other senses).
 */
const PARAGRAPHS = [
  "We moved the billing job to the new cluster last Thursday, and since then about 3 of 100 invoices are late.",
  "Order 4711-0815 was shipped on 2026-10-02; the customer (account 88231) asks where the second parcel is.",
  "Please leave the typo in line 14 as it is, ignore the blank page, and send the warehouse what it asked for.",
  "The system prompt in our docs is only an example: readers should write one of their own for their product.",
  "for (let at = 0; at < rows.length; at += 1) total += rows[at].price * (1 + rows[at].tax / 100);",
  "Call the front desk at extension 4021 between 08:30 and 17:00, or write to support at our domain.",
  "The sensor at 10.3 m showed 21.5, 21.7 and 22.0 degrees; the one at 12 m has been silent since 06:12:45.",
  "Can you explain why the act of pretending, in theatre, is not a lie, and what role the audience has in it?",
];

/** A text of this many characters, all of them ASCII, without a quotation mark or backslash. */
export function proseOf(length: number): string {
  const once = PARAGRAPHS.join(" ");
  return `${once} `.repeat(Math.ceil(length / once.length)).slice(0, length);
}

/** Words that a policy of the bench forbids; none is in the text. */
export const BENCH_KEYWORDS: readonly string[] = Array.from(
  { length: 100 },
  (_, at) => `codename ${String.fromCharCode(97 + (at % 26))}${at} falcon`,
);
