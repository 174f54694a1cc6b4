/** What would stop working without a model is said before it is deleted. */
import { expect, it } from "vitest";
import { referencesTo } from "./model-references.ts";

type Args = Parameters<typeof referencesTo>;
const tenant = (name: string, allowed_models: string[] | null, guard_model: string | null = null): Args[1][number] => ({
  name,
  allowed_models,
  guardrails_policy: guard_model === null ? null : ({ guard_model } as Args[1][number]["guardrails_policy"]),
});

it("lists allowances, guards and settings that name the model, exclusive ones apart", () => {
  const tenants = [tenant("one", ["m"]), tenant("two", ["m", "n"]), tenant("all", null), tenant("judged", [], "m")];
  const keys = [
    { name: "", key_prefix: "sk_1234", allowed_models: ["m"] },
    { name: "other", key_prefix: "sk_5678", allowed_models: ["n"] },
  ];
  const settings = { classifier_model: "m", brain_model: "n", vision_fallback_model: null, tool_loop_nudge: "m" };
  expect(referencesTo("m", tenants, keys, settings)).toEqual({
    only: ["one", "sk_1234"],
    allowed: ["two"],
    guard: ["judged"],
    settings: ["classifier_model"],
  });
});

it("finds nothing where every model is allowed", () => {
  expect(referencesTo("m", [tenant("all", null), tenant("empty", [])], [], {})).toEqual({
    only: [],
    allowed: [],
    guard: [],
    settings: [],
  });
});
