/**
 * The vision boon: a model that sees describes the images of a request for one that does not
 * (docs/rules/boons.md#vision).
 */
import type { ModelRecord } from "../../../shared/records.ts";
import {
  describeRequest,
  descriptionIn,
  type ImagePart,
  imagePartsOf,
  withDescriptions,
} from "../../domain/prompts/image-parts.ts";
import type { Boon, BoonEffect, BoonWork } from "../call/boon/boon.ts";
import { ClientGone } from "../call/client-gone.ts";
import { inTurns } from "../call/in-turns.ts";
import { withSpan } from "../call/report/spans.ts";
import { guardToolResult } from "../guardrails/guard-tool-result.ts";
import { currentModel, subCall } from "../sub-call.ts";

const FAILED = "vision_description_failed";

export const vision: Boon = {
  name: "vision",
  apply: async (work) => {
    const { model, parsed } = work.request;
    if (!work.settings.vision_enabled || !model.boons.includes("vision") || model.supports.vision) return null;
    // The parsed document has cut strings, and is enough to see whether there is an image at all.
    const { call, draft } = work;
    const seen = parsed.document.root["messages"] ?? (draft.isLarge ? null : await draft.get("messages"));
    if ((await inTurns(call, imagePartsOf(seen))).length === 0) return null;
    return await withSpan(work.call, "boon:vision", async (span) => {
      const tooLarge = work.draft.isLarge;
      const messages = tooLarge ? parsed.document.root["messages"] : await work.draft.get("messages");
      const images = await inTurns(call, imagePartsOf(messages));
      const describer = tooLarge ? null : await describerOf(work);
      const described = describer === null ? [] : await describeAll(work, images, describer);
      span.set({ images: images.length, described: described.length, model: describer?.model_name ?? "" });
      if (described.length < images.length) span.fail();
      if (described.length > 0 && Array.isArray(messages))
        work.draft.set("messages", withDescriptions(messages, described));
      return effectOf(images, described);
    });
  },
};

/** The model that describes; null: none is set, or it is not registered, not enabled, or does not see. */
async function describerOf({ call, settings }: BoonWork): Promise<ModelRecord | null> {
  const name = settings.vision_fallback_model;
  const found = name === null ? null : await currentModel(call, name).catch(() => null);
  return found?.supports.vision === true ? found : null;
}

interface Described {
  readonly at: ImagePart;
  readonly description: string;
}

/** The first images, all at once; without those that could not be described. Throws ClientGone. */
async function describeAll(
  work: BoonWork,
  images: readonly ImagePart[],
  describer: ModelRecord,
): Promise<readonly Described[]> {
  const asked = images.slice(0, work.settings.vision_max_images);
  // Every call has ended before this returns or throws.
  const ended = await Promise.allSettled(asked.map(async (at) => await describe(work, at, describer)));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
  return ended.flatMap((end) => (end.status === "fulfilled" && end.value !== null ? [end.value] : []));
}

/** Null: it could not be described. Throws ClientGone. */
async function describe(work: BoonWork, at: ImagePart, model: ModelRecord): Promise<Described | null> {
  if (at.image === null) return null;
  const { call, request, settings } = work;
  const body = describeRequest(at.image, settings.vision_describe_prompt);
  const asked = { requestType: "vision_boon", model, body, timeoutMs: settings.vision_timeout_ms } as const;
  try {
    const answer = await subCall(call, request, asked);
    if (answer.kind !== "answered" || answer.status !== 200) return null;
    const description = descriptionIn(answer.value);
    // the text of a picture is text of the client like any other
    return description === null ? null : { at, description: await guardToolResult(call, request, description) };
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    return null;
  }
}

function effectOf(images: readonly ImagePart[], described: readonly Described[]): BoonEffect {
  return {
    applied: described.length > 0,
    warnings: described.length < images.length ? [FAILED] : [],
    answer: null,
  };
}
