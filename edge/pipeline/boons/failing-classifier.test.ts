/** When the classifier is not asked, and asked again (docs/rules/auto-router.md#classifier). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ModelRecord } from "../../../shared/records.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, modelOf, settingsOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { knowing, TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

/** Costs too much to be chosen itself. */
const CLASSIFIER = modelOf({
  id: "classifier",
  model_name: "classifier",
  api_base: "http://classifier.test",
  prices: { ...modelOf().prices, input: 9 },
});

/** A pipeline whose classifier answers with this status; the list of the texts that it was asked about. */
function worldOf(status: number) {
  const world = new TestPipeline();
  const asked: string[] = [];
  world.model = modelOf({ tags: ["poetry"] });
  world.otherModels.set("classifier", CLASSIFIER);
  const settings = { classifier_enabled: true, classifier_model: "classifier", classifier_timeout_ms: 20 };
  world.settings.set("auto_router", settingsOf(settings));
  world.upstream = async (call) => {
    if (!call.url.startsWith(CLASSIFIER.api_base)) return Response.json({ choices: [] });
    asked.push(JSON.parse(new TextDecoder().decode(call.body as Uint8Array)).messages[1].content);
    return new Response("no", { status });
  };
  const ask = async (content: string, expected = 200): Promise<void> => {
    const body = JSON.stringify({ model: "auto", messages: [{ role: "user", content }] });
    const response = await run(world.received({ body }));
    await response.text();
    await world.settled();
    expect(response.status).toBe(expected);
  };
  return { world, asked, ask };
}

describe("a classifier that fails three times in a row", () => {
  it("is not asked for ten seconds, then again after the next failure", async () => {
    const { world, asked, ask } = worldOf(500);
    for (const text of ["a", "b", "c", "d"]) await ask(text);
    expect(asked).toEqual(["a", "b", "c"]);
    world.nowMs += 10_000;
    for (const text of ["e", "f"]) await ask(text);
    expect(asked).toEqual(["a", "b", "c", "e"]);
    const failed = world.events.filter(({ labels }) => labels.join(" ") === "auto_classifier failed");
    expect(failed).toHaveLength(6);
  });

  it("is asked at once when its record has changed", async () => {
    const { world, asked, ask } = worldOf(500);
    for (const text of ["a", "b", "c", "d"]) await ask(text);
    const changed: ModelRecord = { ...CLASSIFIER, rev: CLASSIFIER.rev + 1 };
    world.otherModels.set("classifier", changed);
    await ask("e");
    expect(asked).toEqual(["a", "b", "c", "e"]);
  });

  it("does not count as failing when it refuses a text, because others may pass", async () => {
    const { asked, ask } = worldOf(400);
    for (const text of ["a", "b", "c", "d"]) await ask(text);
    expect(asked).toEqual(["a", "b", "c", "d"]);
  });
});

it("a classifier is not asked for a key whose requests budgets refuse, until one is admitted", async () => {
  const { world, asked, ask } = worldOf(200);
  const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;
  world.answers = Array.from({ length: 4 }, () => ({ verdict: "refused", refusal, permit: new TestPermit() }) as const);
  for (const text of ["a", "b", "c", "d"]) await ask(text, 403);
  expect(asked).toEqual(["a", "b", "c"]);
  world.nowMs += 10_000;
  for (const text of ["e", "f"]) await ask(text);
  expect(asked).toEqual(["a", "b", "c", "e", "f"]);
});

it("a classifier is asked when a request is checked again whose caller had just changed", async () => {
  const { world, asked, ask } = worldOf(200);
  const news = { kind: "tenant", id: tenantOf().id, rev: 99 } as const;
  Object.assign(world, { stale: knowing(news), answers: [{ verdict: "stale", items: [news] }] });
  const askedAtFirst: number[] = [];
  world.inFlightByModel = async () => {
    askedAtFirst.push(asked.length);
    world.key = keyOf({ tenant: tenantOf({ rev: 99 }) });
    return new Map();
  };
  await ask("a sonnet, please");
  expect({ atFirst: askedAtFirst[0], asked }).toEqual({ atFirst: 0, asked: ["a sonnet, please"] });
});
