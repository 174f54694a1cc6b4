import { expect, it } from "vitest";
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import { worstTone } from "./worst-tone.ts";

it("is as urgent as the most urgent entry", () => {
  const toneOf = (...kinds: AttentionItem["kind"][]) =>
    worstTone(
      kinds.map((kind) => ({ kind, entity_type: "model", entity_id: "m", name: "m", detail: "", since: null })),
    );
  expect({
    bad: toneOf("setting_without_effect", "model_down", "endpoint_down"),
    warn: toneOf("endpoint_down", "setting_without_effect"),
    neutral: toneOf("setting_without_effect"),
  }).toEqual({ bad: "bad", warn: "warn", neutral: "neutral" });
});
