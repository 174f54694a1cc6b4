/**
 * The passes of compression over the messages of a chat request, in their order (docs/rules/compression.md#passes). What needs
 * the outside, keeping originals and scoring sentences, is an argument.
 */
import { sha256Hex } from "../../../shared/crypto/sha256.ts";
import type { Steps } from "../../../shared/steps.ts";
import { type Block, blocksOf, withBlocks } from "./block.ts";
import { compactLogBlocks, keepBestSentences, proseBlocks } from "./lossy.ts";
import { messagesTokens, requestTexts, withRequestTexts } from "./message-texts.ts";
import { repeatsOf } from "./repeats.ts";
import { heuristicScores, queryTerms } from "./sentences.ts";
import { compactCodeBlocks, compactJsonBlocks } from "./structural.ts";

/** How much compression may do. */
interface CompressionLimits {
  /** Shorter blocks stay unchanged, in tokens. */
  readonly minTokens: number;
  readonly maxBlocks: number;
  readonly maxLossyBlocks: number;
  /** The share of sentences that is kept, above 0 and at most 1. */
  readonly keepRatio: number;
}

type Scores = readonly (readonly number[])[];

/** The steps to run, with their external dependencies; null: the step is left out. */
export interface CompressionSteps {
  /** Does work of any length. */
  readonly inTurns: <T>(work: Steps<T>) => Promise<T>;
  readonly code: boolean;
  /** Keeps texts by their SHA-256 in hex; false: they could not be kept, and nothing becomes a reference. */
  readonly keepOriginals: ((texts: ReadonlyMap<string, string>) => Promise<boolean>) | null;
  /** `score`: how the sidecar scores sentences, null when it failed; without it they are scored by rule of thumb. */
  readonly lossy: {
    readonly score: ((segments: readonly (readonly string[])[], query: string) => Promise<Scores | null>) | null;
  } | null;
}

/** Messages with fewer tokens, or those that were given. */
interface CompressedMessages {
  readonly messages: readonly unknown[];
  readonly beforeTokens: number;
  /** At most `beforeTokens`; equal: nothing has changed. */
  readonly afterTokens: number;
  /** Blocks that JSON compaction, references and lossy passes have changed. */
  readonly jsonCompacted: number;
  readonly dedupRefs: number;
  readonly lossySegments: number;
  /** The texts behind the references, by their SHA-256; empty without references. */
  readonly originals: ReadonlyMap<string, string>;
}

interface Step {
  readonly blocks: readonly Block[];
  readonly changed: number;
}

/** The sidecar gets the end of a longer question. */
const QUERY_CHARS_MAX = 8192;
const NO_ORIGINALS: ReadonlyMap<string, string> = new Map();

/** Runs the steps. A result that is not smaller is discarded. Rethrows errors of the functions of `steps`. */
export async function compressMessages(
  messages: readonly unknown[],
  limits: CompressionLimits,
  { inTurns, code, keepOriginals, lossy }: CompressionSteps,
): Promise<CompressedMessages> {
  const found = requestTexts(messages);
  const json = await inTurns(
    compactJsonBlocks(await inTurns(blocksOf(found.texts, limits.minTokens, limits.maxBlocks))),
  );
  const structural = code ? await inTurns(compactCodeBlocks(json.blocks)) : json.blocks;
  const referring =
    keepOriginals && (await withReferences(found.texts, structural, limits, { inTurns, keepOriginals }));
  const reversible = referring?.blocks ?? structural;
  const left = lossy && (await withLoss(reversible, found.question, limits, { inTurns, score: lossy.score }));
  const after = withRequestTexts(messages, found, withBlocks(found.texts, left?.blocks ?? reversible));
  const beforeTokens = messagesTokens(messages);
  const afterTokens = messagesTokens(after);
  if (afterTokens >= beforeTokens) {
    const nothing = { jsonCompacted: 0, dedupRefs: 0, lossySegments: 0, originals: NO_ORIGINALS };
    return { messages, beforeTokens, afterTokens: beforeTokens, ...nothing };
  }
  return {
    messages: after,
    beforeTokens,
    afterTokens,
    jsonCompacted: json.compacted,
    dedupRefs: referring?.changed ?? 0,
    lossySegments: left?.changed ?? 0,
    originals: referring?.originals ?? NO_ORIGINALS,
  };
}

/** Null: nothing repeats, or the originals could not be kept. */
async function withReferences(
  texts: readonly string[],
  blocks: readonly Block[],
  { minTokens, maxBlocks }: CompressionLimits,
  {
    inTurns,
    keepOriginals,
  }: Pick<CompressionSteps, "inTurns"> & {
    readonly keepOriginals: NonNullable<CompressionSteps["keepOriginals"]>;
  },
): Promise<(Step & Pick<CompressedMessages, "originals">) | null> {
  const repeats = await inTurns(repeatsOf(texts, blocks, { minTokens, maxRepeats: maxBlocks }));
  if (repeats === null) return null;
  const hashes = await inTurns(hashesOf(repeats.originals));
  const originals = new Map([...hashes].map(([text, sha256]) => [sha256, text]));
  return (await keepOriginals(originals)) ? { blocks: repeats.refer(hashes), changed: repeats.count, originals } : null;
}

function* hashesOf(texts: readonly string[]): Steps<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (const text of texts) {
    hashes.set(text, sha256Hex(text));
    yield text.length;
  }
  return hashes;
}

/** Logs first, then prose, on as many blocks as may be touched. */
async function withLoss(
  blocks: readonly Block[],
  question: string,
  { maxLossyBlocks, keepRatio }: CompressionLimits,
  { inTurns, score }: Pick<CompressionSteps, "inTurns"> & NonNullable<CompressionSteps["lossy"]>,
): Promise<Step> {
  const logs = await inTurns(compactLogBlocks(blocks, maxLossyBlocks));
  const prose = await inTurns(proseBlocks(logs.blocks, maxLossyBlocks - logs.changed));
  if (prose.length === 0) return logs;
  const terms = queryTerms(question);
  const segments = prose.map(({ sentences }) => sentences);
  const scores =
    score === null
      ? await Promise.all(segments.map(async (sentences) => await inTurns(heuristicScores(sentences, terms))))
      : await score(segments, question.slice(-QUERY_CHARS_MAX));
  if (scores === null) return logs;
  const kept = await inTurns(keepBestSentences(logs.blocks, prose, scores, { keepRatio, terms }));
  return { blocks: kept.blocks, changed: logs.changed + kept.changed };
}
