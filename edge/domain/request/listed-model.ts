/**
 * The description of a model for clients (docs/rules/routes.md#model-listing): what they need to choose one, without where it
 * runs.
 */
import type { ModelRecord } from "../../../shared/records.ts";

const MODALITIES: Readonly<Record<ModelRecord["model_type"], { readonly input: string; readonly output: string }>> = {
  chat: { input: "text", output: "text" },
  embedding: { input: "text", output: "embedding" },
  audio_transcription: { input: "audio", output: "text" },
  audio_speech: { input: "text", output: "audio" },
  image: { input: "text", output: "image" },
};

/** The entry of a model. Unknown values, and prices of 0, are absent. */
export function listedModel(model: ModelRecord): object {
  const { supports } = model;
  const { input, output } = MODALITIES[model.model_type];
  const prices = Object.entries(model.prices).filter(([, usd]) => usd !== null && usd !== 0);
  return {
    id: model.model_name,
    object: "model",
    created: Math.floor(model.created_at_ms / 1000),
    owned_by: "gateway",
    model_type: model.model_type,
    enabled: model.enabled,
    ...(model.context_window === 0 ? {} : { context_window: model.context_window }),
    input_modalities: supports.vision && input === "text" ? [input, "image"] : [input],
    output_modalities: [output],
    ...(model.model_type === "chat" ? { capabilities: namesOf(supports) } : {}),
    ...(prices.length === 0 ? {} : { prices_usd: Object.fromEntries(prices) }),
  };
}

const namesOf = (flags: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(flags).filter((name) => flags[name]);
