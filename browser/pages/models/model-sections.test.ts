/** What the page of a model shows and edits: every field that can be changed has its section. */
import { expect, it } from "vitest";
import { patchModelSchema } from "../../../shared/schema/model.ts";
import { healthConfigSchema } from "../../../shared/schema/model-health.ts";
import { MODEL_SECTIONS } from "./model-sections.tsx";

/** Fields with a place of their own on the page, and the price that is only stored. */
const ELSEWHERE = ["enabled", "model_name", "api_key", "health", "cost_per_audio_second"];

it("has a section for each field of a model and of its health checks, once", () => {
  const shown = Object.values(MODEL_SECTIONS).flat();
  const all = [...Object.keys(patchModelSchema.shape), ...Object.keys(healthConfigSchema.shape)];
  expect(shown.toSorted()).toEqual(all.filter((name) => !ELSEWHERE.includes(name)).toSorted());
});
