/** Request counters as an object keeps them on its disk. */
import * as z from "zod";
import type { SavedCounters } from "../domain/cell/request-counters.ts";

const histogramSchema = z.object({ hits: z.array(z.number()), sum: z.number() });
const countersSchema = z.object({
  requests: z.array(z.tuple([z.string(), z.number()])),
  input: z.number(),
  output: z.number(),
  upstream: z.array(z.tuple([z.string(), z.number()])).default([]),
  cache: z
    .object({ hit: z.number(), miss: z.number(), tokensSaved: z.number() })
    .default({ hit: 0, miss: 0, tokensSaved: 0 }),
  ttft: histogramSchema,
  total: histogramSchema,
});

/** What was saved; null when nothing was, or in another form. */
export function readCounters(text: string | null): SavedCounters | null {
  const saved = text === null ? null : countersSchema.safeParse(JSON.parse(text));
  return saved?.success ? saved.data : null;
}
