/** The version of a guardrails policy at its use counts (docs/rules/guardrails.md#policies). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  alertTexts as alertsOf,
  answeringText as answering,
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  HIDDEN_TEXT as HIDDEN,
  MAIL_TEXT as MAIL,
  GUARD_POLICY as POLICY,
  type GuardPolicy as Policy,
  sentBody as sent,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { knowing, TestPermit } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

describe("a policy that changed", () => {
  it("is the one that refuses, or does not", async () => {
    const world = worldOf(null, { rev: 2 });
    world.keyInMemory = keyOf({
      tenant: tenantOf({ guardrails_policy: { ...POLICY, input_scanners: ["pii"] }, rev: 1 }),
    });
    world.stale = knowing({ kind: "tenant", id: tenantOf().id, rev: 2 });
    expect((await answerOf(world, { body: chatBody(MAIL) })).status).toBe(200);
  });

  it("is the one by which a guard model gets the text, or does not", async () => {
    const world = worldOf(null, { rev: 2 });
    const judged: Policy = { ...POLICY, input_scanners: ["harm"], guard_model: "tiny" };
    world.keyInMemory = keyOf({ tenant: tenantOf({ guardrails_policy: judged, rev: 1 }) });
    world.stale = knowing({ kind: "tenant", id: tenantOf().id, rev: 2 });
    expect((await answerOf(world, { body: chatBody("hi") })).status).toBe(200);
    expect(world.upstreamCalls).toHaveLength(1);
  });

  it("counts for a request that waits", async () => {
    const world = worldOf(null);
    const waiting = new TestPermit();
    world.answers = [{ verdict: "waiting", permit: waiting }];
    const answered = answerOf(world, { body: chatBody(MAIL) });
    await waitFor(
      () => world.requests,
      ({ length }) => length === 1,
    );
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy: { ...POLICY, input_scanners: ["pii"] }, rev: 2 }) });
    waiting.decided.resolve({ verdict: "stale", items: [{ kind: "tenant", id: tenantOf().id, rev: 2 }] });
    expect((await answered).status).toBe(400);
    expect(waiting.settlement?.row).toMatchObject({ status_code: 400, admission: "rejected", cost_usd: 0 });
    expect(world.upstreamCalls).toEqual([]);
  });

  it("keeps an answer out of the cache that it has changed meanwhile", async () => {
    const world = worldOf(null);
    if (world.model !== null) world.model = { ...world.model, cache_enabled: true };
    world.upstream = answering(MAIL, false);
    const waiting = new TestPermit();
    world.answers = [{ verdict: "waiting", permit: waiting }];
    const answered = answerOf(world, { body: chatBody("hi") });
    await waitFor(
      () => world.requests,
      ({ length }) => length === 1,
    );
    const policy: Policy = { ...POLICY, action: "redact", output_scanners: ["pii"] };
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy: policy, rev: 2 }) });
    waiting.decided.resolve({ verdict: "stale", items: [{ kind: "tenant", id: tenantOf().id, rev: 2 }] });
    expect((await answered).text).toContain(HIDDEN);
    expect(world.stored).toEqual([]);
  });

  it("that only logs does so for a refused request too", async () => {
    const world = worldOf({ action: "log_only", input_scanners: ["pii"] });
    world.answers = [
      {
        verdict: "refused",
        refusal: { code: "tenant_budget_exhausted", retryAfterMs: null, level: null },
        permit: new TestPermit(),
      },
    ];
    expect((await answerOf(world, { body: chatBody(MAIL) })).status).toBe(403);
    expect(alertsOf(world)).toEqual(["guardrails_input: acme: pii on input, action log_only"]);
  });

  it("redacts the client's own words when it redacted others before", async () => {
    const policy: Policy = { ...POLICY, action: "redact", input_scanners: ["pii"] };
    const world = worldOf({ ...policy, action: "redact", input_scanners: ["ban_keywords"] });
    const waiting = new TestPermit();
    world.answers = [{ verdict: "waiting", permit: waiting }];
    const answered = answerOf(world, { body: chatBody(`${MAIL} blue falcon`) });
    await waitFor(
      () => world.requests,
      ({ length }) => length === 1,
    );
    world.key = keyOf({ tenant: tenantOf({ guardrails_policy: policy, rev: 2 }) });
    waiting.decided.resolve({ verdict: "stale", items: [{ kind: "tenant", id: tenantOf().id, rev: 2 }] });
    expect((await answered).status).toBe(200);
    expect(JSON.parse(await sent(world)).messages[0].content).toBe(`${HIDDEN} blue falcon`);
  });
});
