/**
 * The passes that leave something out (docs/rules/compression.md#lossy-passes). Each works on the longest blocks first and on
 * no more blocks than it is allowed; a block that a later one refers to stays whole.
 */
import type { Steps } from "../../../shared/steps.ts";
import { type Block, longestFirst } from "./block.ts";
import { compactLog } from "./log-lines.ts";
import { keepBest, SENTENCES_MAX, SENTENCES_MIN, sentencesOf } from "./sentences.ts";
import { shorter } from "./structural.ts";

/** A block of prose that may lose sentences. */
interface ProseBlock {
  readonly block: Block;
  readonly sentences: readonly string[];
}

/** The blocks after a pass, in their order, and how many it has changed. */
interface LossyResult {
  readonly blocks: readonly Block[];
  readonly changed: number;
}

/** Compacts at most `max` logs. */
export function* compactLogBlocks(blocks: readonly Block[], max: number): Steps<LossyResult> {
  const changed = new Map<Block, Block>();
  for (const block of longestFirst(blocks.filter(({ kind, referred }) => kind === "log" && !referred))) {
    if (changed.size >= max) break;
    const after = shorter(block, yield* compactLog(block.current));
    if (after !== block) changed.set(block, after);
  }
  return { blocks: blocks.map((block) => changed.get(block) ?? block), changed: changed.size };
}

/** At most `max` blocks of prose that have enough sentences, the longest first. */
export function* proseBlocks(blocks: readonly Block[], max: number): Steps<readonly ProseBlock[]> {
  const found: ProseBlock[] = [];
  for (const block of longestFirst(blocks.filter(({ kind, referred }) => kind === "prose" && !referred))) {
    if (found.length >= max) break;
    const sentences = yield* sentencesOf(block.current);
    if (sentences.length >= SENTENCES_MIN && sentences.length <= SENTENCES_MAX) found.push({ block, sentences });
  }
  return found;
}

/** Removes sentences from these blocks. `scores` has a finite number for each sentence of each block. */
export function* keepBestSentences(
  blocks: readonly Block[],
  prose: readonly ProseBlock[],
  scores: readonly (readonly number[])[],
  keep: { readonly keepRatio: number; readonly terms: ReadonlySet<string> },
): Steps<LossyResult> {
  const changed = new Map<Block, Block>();
  for (const [at, { block, sentences }] of prose.entries()) {
    const after = shorter(block, yield* keepBest(sentences, scores[at] ?? [], keep));
    if (after !== block) changed.set(block, after);
  }
  return { blocks: blocks.map((block) => changed.get(block) ?? block), changed: changed.size };
}
