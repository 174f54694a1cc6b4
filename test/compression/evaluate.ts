/**
 * Measures compression on the transcripts of this folder: tokens saved by each pass, and for lossy passes the share of the
 * labelled sentences that are kept. Each pass is added to those before it; the originals of references are kept in memory.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type CompressionSteps, compressMessages } from "../../edge/domain/prompts/compress.ts";
import { scoreSentences } from "../../infra/compressor/bm25.ts";
import { atOnce, type Steps } from "../../shared/steps.ts";
import { markdownTable } from "../harness/text-table.ts";

const FOLDER = join(import.meta.dirname, "transcripts");
const KINDS = ["rag", "log", "json", "code", "agent"] as const;

const transcriptSchema = z.object({
  kind: z.enum(KINDS),
  messages: z.array(z.looseObject({ role: z.string() })),
  /** The sentences or lines that answer the last question. */
  answers: z.array(z.string()),
});
type Transcript = z.infer<typeof transcriptSchema>;

/** Defaults of the settings, but for the smallest block: the transcripts are shorter than what agents send. */
export const EVALUATION_LIMITS = { minTokens: 64, maxBlocks: 64, maxLossyBlocks: 4, keepRatio: 0.5 };

const inTurns = async <T>(work: Steps<T>): Promise<T> => atOnce(work);
export const NOTHING: CompressionSteps = { inTurns, code: false, keepOriginals: null, lossy: null };
const reversible: CompressionSteps = { inTurns, code: true, keepOriginals: async () => true, lossy: null };
const neural: CompressionSteps = {
  ...reversible,
  lossy: { score: async (segments, query) => scoreSentences(segments, query) },
};
/** A sidecar that is away: of the lossy passes logs are left. */
const logsOnly: CompressionSteps = { ...reversible, lossy: { score: async () => null } };

const STAGES: readonly (readonly [string, CompressionSteps])[] = [
  ["JSON compaction", NOTHING],
  ["+ code compaction", { ...NOTHING, code: true }],
  ["+ deduplication", reversible],
  ["+ log compaction", logsOnly],
  ["+ prose, sidecar (BM25)", neural],
  ["+ prose, without a sidecar", { ...reversible, lossy: { score: null } }],
];

export function readTranscripts(): readonly Transcript[] {
  const names = readdirSync(FOLDER).sort();
  return names.map((name) => transcriptSchema.parse(JSON.parse(readFileSync(join(FOLDER, name), "utf8"))));
}

/** The table of docs/rules/compression.md#figures: a row for each pass, in percent. */
export async function evaluationTable(transcripts: readonly Transcript[]): Promise<string> {
  const head = ["passes", ...KINDS, "all", "labelled sentences kept"];
  const rows: string[][] = [];
  for (const [name, steps] of STAGES) {
    const results = await Promise.all(transcripts.map(async (transcript) => await resultOf(transcript, steps)));
    const saved = (chosen: readonly Result[]): string =>
      percent(
        sum(chosen, ({ before, after }) => before - after),
        sum(chosen, ({ before }) => before),
      );
    const labels = percent(
      sum(results, ({ kept }) => kept),
      sum(results, ({ labelled }) => labelled),
    );
    rows.push([
      name,
      ...KINDS.map((kind) => saved(results.filter((each) => each.kind === kind))),
      saved(results),
      labels,
    ]);
  }
  return markdownTable(head, rows);
}

interface Result {
  readonly kind: Transcript["kind"];
  readonly before: number;
  readonly after: number;
  readonly labelled: number;
  readonly kept: number;
}

async function resultOf({ kind, messages, answers }: Transcript, steps: CompressionSteps): Promise<Result> {
  const done = await compressMessages(messages, EVALUATION_LIMITS, steps);
  const text = JSON.stringify(done.messages);
  const kept = answers.filter((answer) => text.includes(JSON.stringify(answer).slice(1, -1))).length;
  return { kind, before: done.beforeTokens, after: done.afterTokens, labelled: answers.length, kept };
}

function sum(results: readonly Result[], amount: (result: Result) => number): number {
  return results.reduce((total, result) => total + amount(result), 0);
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)} %`;
}
