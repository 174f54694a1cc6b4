/**
 * The boon `compression`: the texts of a chat request in fewer tokens (docs/rules/compression.md). Domain decides what becomes
 * of each block; this runs the passes in their order, keeps the originals of references, and asks the sidecar for scores.
 */
import { sha256Hex } from "../../../shared/sha256.ts";
import { type Block, blocksOf, withBlocks } from "../../domain/compression/block.ts";
import { compactLogBlocks, keepBestSentences, type ProseBlock, proseBlocks } from "../../domain/compression/lossy.ts";
import { isRewritable, messagesTokens, requestTexts, withTexts } from "../../domain/compression/message-texts.ts";
import { passesFor } from "../../domain/compression/passes.ts";
import { RETRIEVE_TOOL, referredHash, repeatsOf } from "../../domain/compression/repeats.ts";
import { heuristicScores, queryTerms } from "../../domain/compression/sentences.ts";
import { compactCodeBlocks, compactJsonBlocks } from "../../domain/compression/structural.ts";
import type { Boon, BoonEffect, BoonWork, OwnTool } from "../boons/boon.ts";
import { withSpan } from "../report/spans.ts";

/** The sidecar gets the end of a longer question. */
const QUERY_CHARS_MAX = 8192;

/** What the passes have made of a request's blocks. */
interface Compacted {
  readonly blocks: readonly Block[];
  /** The texts behind references, by their SHA-256; empty without references. */
  readonly originals: ReadonlyMap<string, string>;
  readonly jsonCompacted: number;
  readonly dedupRefs: number;
  readonly lossySegments: number;
}

type Passes = NonNullable<ReturnType<typeof passesFor>>;

/** Compresses requests of models that list `compression`. */
export const compressionBoon: Boon = { name: "compression", apply };

async function apply(work: BoonWork): Promise<BoonEffect | null> {
  const { call, request, settings, draft } = work;
  if (!settings.compression_enabled || !request.model.boons.includes("compression")) return null;
  const passes = passesFor(request.principal.tenant.compression_policy, settings, work.directive.lossy);
  const messages = draft.get("messages");
  if (passes === null || !Array.isArray(messages) || !isRewritable(messages)) return null;
  return await withSpan(call, "boon:compression", async (span) => {
    const found = requestTexts(messages);
    const compacted = await compact(work, passes, found.texts, found.question);
    const after = withTexts(messages, found, withBlocks(found.texts, compacted.blocks));
    const beforeTokens = messagesTokens(messages);
    const afterTokens = Math.min(messagesTokens(after), beforeTokens);
    const applied = afterTokens < beforeTokens;
    span.set({
      json_compacted: applied ? compacted.jsonCompacted : 0,
      dedup_refs: applied ? compacted.dedupRefs : 0,
      lossy_segments: applied ? compacted.lossySegments : 0,
      before_tokens: beforeTokens,
      after_tokens: afterTokens,
      tokens_saved: beforeTokens - afterTokens,
    });
    if (applied) {
      draft.set("messages", after);
      if (compacted.dedupRefs > 0) work.ownTools.push(retrieveTool(work, compacted.originals));
      const event = { metric: "gateway_compression_tokens_saved_total", labels: [] } as const;
      call.ports.events.count([{ ...event, times: beforeTokens - afterTokens }]);
    }
    return { applied, warnings: [], answer: null, compression: { beforeTokens, afterTokens } };
  });
}

/** Runs the passes in their order. */
async function compact(work: BoonWork, passes: Passes, texts: readonly string[], question: string): Promise<Compacted> {
  const { settings } = work;
  const minTokens = settings.compression_min_tokens;
  const found = blocksOf(texts, minTokens, settings.compression_max_segments);
  const json = compactJsonBlocks(found);
  const code = passes.code ? compactCodeBlocks(json.blocks) : json.blocks;
  const referring = passes.dedup ? await withReferences(work, texts, code) : null;
  const blocks = referring?.blocks ?? code;
  const lossy = passes.lossy ? await withoutLess(work, blocks, question) : { blocks, changed: 0 };
  return {
    blocks: lossy.blocks,
    originals: referring?.originals ?? new Map(),
    jsonCompacted: json.compacted,
    dedupRefs: referring?.refs ?? 0,
    lossySegments: lossy.changed,
  };
}

/** Null: nothing repeats, the model cannot ask for originals, or they cannot be kept. */
async function withReferences(
  { call, request, settings, draft }: BoonWork,
  texts: readonly string[],
  blocks: readonly Block[],
): Promise<{
  readonly blocks: readonly Block[];
  readonly refs: number;
  readonly originals: Map<string, string>;
} | null> {
  if (!request.model.supports.function_calling || !mayCallTools(draft.get("tool_choice"), draft.get("tools")))
    return null;
  const repeats = repeatsOf(texts, blocks, {
    minTokens: settings.compression_min_tokens,
    maxRepeats: settings.compression_max_segments,
  });
  if (repeats === null) return null;
  const originals = new Map(repeats.originals.map((text) => [sha256Hex(text), text]));
  const { tenant } = request.principal;
  if (!(await call.ports.originals.keep(tenant.id, originals, settings.compression_original_ttl_secs))) return null;
  const hashes = new Map([...originals].map(([sha256, text]) => [text, sha256]));
  return { blocks: repeats.refer(hashes), refs: repeats.count, originals };
}

/** Whether the model may call a tool that the gateway adds. */
function mayCallTools(choice: unknown, tools: unknown): boolean {
  if (choice !== undefined && choice !== null && choice !== "auto" && choice !== "required") return false;
  const given: readonly unknown[] = Array.isArray(tools) ? tools : [];
  return !given.some((tool) => nameOf(tool) === RETRIEVE_TOOL.function.name);
}

function nameOf(tool: unknown): unknown {
  const named = tool as { readonly function?: { readonly name?: unknown } | null } | null;
  return typeof named === "object" && named !== null ? named.function?.name : undefined;
}

/** The lossy passes: logs first, then prose, on as many blocks as may be touched. */
async function withoutLess(
  { call, settings }: BoonWork,
  blocks: readonly Block[],
  question: string,
): Promise<{ readonly blocks: readonly Block[]; readonly changed: number }> {
  const logs = compactLogBlocks(blocks, settings.compression_max_lossy_segments);
  const prose = proseBlocks(logs.blocks, settings.compression_max_lossy_segments - logs.changed);
  if (prose.length === 0) return logs;
  const terms = queryTerms(question);
  const scores = await scoresOf(prose);
  if (scores === null) return logs;
  const keep = { keepRatio: settings.compression_neural_keep_ratio, terms };
  const kept = keepBestSentences(logs.blocks, prose, scores, keep);
  return { blocks: kept.blocks, changed: logs.changed + kept.changed };

  async function scoresOf(found: readonly ProseBlock[]): Promise<readonly (readonly number[])[] | null> {
    const segments = found.map(({ sentences }) => sentences);
    const { compressor } = call.ports;
    if (!compressor.enabled) return segments.map((sentences) => heuristicScores(sentences, terms));
    return await compressor.score(segments, question.slice(-QUERY_CHARS_MAX));
  }
}

/** The tool with which the model reads what a reference stands for. */
function retrieveTool({ call, request }: BoonWork, originals: ReadonlyMap<string, string>): OwnTool {
  const tenantId = request.principal.tenant.id;
  return {
    definition: RETRIEVE_TOOL,
    run: async (args) => {
      const ref = typeof args === "object" && args !== null ? (args as { readonly ref?: unknown }).ref : undefined;
      const sha256 = referredHash(ref);
      if (sha256 === null) return "error: ref must be the 64 hexadecimal digits of a [ref:...] mark";
      // what this request refers to is at hand, whatever has become of the store
      const text = originals.get(sha256) ?? (await call.ports.originals.load(tenantId, sha256));
      return text ?? "error: the original is not kept any more; the text is identical to the block above its mark";
    },
  };
}
