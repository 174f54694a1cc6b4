/**
 * The boon `compression`: the texts of a chat request in fewer tokens (docs/rules/compression.md). The domain decides the new
 * form of each text; this file decides which passes run, and gives them the store of originals and the sidecar.
 */
import { compressMessages } from "../../domain/prompts/compress.ts";
import { isRewritable } from "../../domain/prompts/message-texts.ts";
import { passesFor } from "../../domain/prompts/passes.ts";
import { RETRIEVE_TOOL, referredHash } from "../../domain/prompts/repeats.ts";
import type { Boon, BoonEffect, BoonWork, OwnTool } from "../call/boon/boon.ts";
import { loopableRequest } from "../call/boon/loopable-request.ts";
import { inTurns } from "../call/in-turns.ts";
import { withSpan } from "../call/report/spans.ts";

/** Compresses requests of models that list `compression`. */
export const compressionBoon: Boon = { name: "compression", apply };

async function apply(work: BoonWork): Promise<BoonEffect | null> {
  const { call, request, settings, draft } = work;
  if (!settings.compression_enabled || !request.model.boons.includes("compression") || draft.isLarge) return null;
  const { tenant } = request.principal;
  const passes = passesFor(tenant.compression_policy, settings, work.directive.lossy);
  const messages = await draft.get("messages");
  if (passes === null || !Array.isArray(messages) || !(await inTurns(call, isRewritable(messages)))) return null;
  const { originals, compressor, events } = call.ports;
  const limits = {
    minTokens: settings.compression_min_tokens,
    maxBlocks: settings.compression_max_segments,
    maxLossyBlocks: settings.compression_max_lossy_segments,
    keepRatio: settings.compression_neural_keep_ratio,
  };
  const ttlSecs = settings.compression_original_ttl_secs;
  const score: typeof compressor.score = async (segments, query) =>
    await call.interruption.until(compressor.score(segments, query));
  return await withSpan(call, "boon:compression", async (span) => {
    const done = await compressMessages(messages, limits, {
      inTurns: async (steps) => await inTurns(call, steps),
      code: passes.code,
      keepOriginals:
        passes.dedup && (await mayAskForOriginals(work))
          ? async (texts) => await originals.keep(tenant.id, texts, ttlSecs)
          : null,
      lossy: passes.lossy ? { score: compressor.enabled ? score : null } : null,
    });
    const { beforeTokens, afterTokens } = done;
    const savedTokens = beforeTokens - afterTokens;
    span.set({
      json_compacted: done.jsonCompacted,
      dedup_refs: done.dedupRefs,
      lossy_segments: done.lossySegments,
      before_tokens: beforeTokens,
      after_tokens: afterTokens,
      tokens_saved: savedTokens,
    });
    if (savedTokens > 0) {
      draft.set("messages", done.messages);
      if (done.dedupRefs > 0) work.ownTools.push(retrieveTool(work, done.originals));
      events.count([{ metric: "gateway_compression_tokens_saved_total", labels: [], times: savedTokens }]);
    }
    return { applied: savedTokens > 0, warnings: [], answer: null, compression: { beforeTokens, afterTokens } };
  });
}

/** Whether the model can call the tool that goes with references, and the tool loop will answer the call. */
async function mayAskForOriginals(work: BoonWork): Promise<boolean> {
  const choice = (await work.draft.get("tool_choice")) ?? "auto";
  const loopable = choice === "auto" || choice === "required" ? await loopableRequest(work) : null;
  if (loopable === null) return false;
  return loopable.tools.every((tool) => fieldOf(fieldOf(tool, "function"), "name") !== RETRIEVE_TOOL.function.name);
}

/** The tool with which the model reads the original of a reference. */
function retrieveTool({ call, request }: BoonWork, originals: ReadonlyMap<string, string>): OwnTool {
  const tenantId = request.principal.tenant.id;
  return {
    definition: RETRIEVE_TOOL,
    run: async (args) => {
      const sha256 = referredHash(fieldOf(args, "ref"));
      if (sha256 === null) return "error: ref must be the 64 hexadecimal digits of a [ref:...] mark";
      // the originals of this request are in memory, even if the store fails
      const text = originals.get(sha256) ?? (await call.ports.originals.load(tenantId, sha256));
      return text ?? "error: the original is no longer kept; the block above its mark is identical";
    },
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
