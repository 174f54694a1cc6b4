/**
 * The texts that a policy examines when the request has its slot, and its limits (docs/rules/guardrails.md#when).
 *
 * @module-tag check
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  answeringText as answering,
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  HIDDEN_TEXT as HIDDEN,
  MAIL_TEXT as MAIL,
  sentBody as sent,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const LONG = "so it goes, ".repeat(3_000);
/** Letters that fold to eighteen: longer than the part of a request that is read, so the address after them is not found. */
const BEYOND = `${"\ufdfa".repeat(3_800_000)} ${MAIL}`;
const PII: Parameters<typeof worldOf>[0] = { input_scanners: ["pii"], action: "block" };
const examined = (world: ReturnType<typeof worldOf>) =>
  world.events.filter(
    ({ metric, labels }) => metric === "gateway_boon_runs_total" && labels[0] === "guardrails_input:pii",
  );

describe("a large body", () => {
  it("is not examined for a tenant whose budget refuses it", async () => {
    const world = worldOf(PII);
    const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;
    world.answers = [{ verdict: "refused", refusal, permit: world.permit }];
    const { status } = await answerOf(world, { body: chatBody(LONG + MAIL) });
    expect({ status, examined: examined(world) }).toEqual({ status: 403, examined: [] });
  });

  it("that is blocked gives slot and budgets back, and costs nothing", async () => {
    const world = worldOf(PII);
    const { status, text } = await answerOf(world, { body: chatBody(LONG + MAIL) });
    expect({ status, code: JSON.parse(text).error.code, calls: world.upstreamCalls }).toEqual({
      status: 400,
      code: "request_blocked",
      calls: [],
    });
    expect(world.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { status_code: 400, input_tokens: 0, output_tokens: 0, cost_usd: 0 },
    });
  });

  it("goes upstream redacted", async () => {
    const world = worldOf({ ...PII, action: "redact" });
    world.upstream = answering("fine");
    expect((await answerOf(world, { body: chatBody(LONG + MAIL) })).status).toBe(200);
    expect(await sent(world)).toBe(chatBody(LONG + HIDDEN));
  });

  it("is not looked up in the response cache, which would need the body that goes upstream", async () => {
    const world = worldOf({ ...PII, action: "redact" });
    if (world.model !== null) world.model = { ...world.model, cache_enabled: true };
    world.upstream = answering("fine");
    const { headers } = await answerOf(world, { body: chatBody(LONG) });
    expect(headers.get("x-gateway-cache")).not.toBe("miss");
  });

  it("has another order than a small one, which its policy refuses first", async () => {
    const world = worldOf(PII);
    expect((await answerOf(world, { body: chatBody(MAIL) })).status).toBe(400);
    expect(world.requests).toEqual([]);
  });
});

describe("a text of more work than a request may take", () => {
  it.each([
    ["passes", { fail_open: true }, 200],
    ["is refused", { fail_open: false }, 503],
  ])("%s, as the policy says", async (_, open, status) => {
    const world = worldOf({ ...PII, input_scanners: ["pii", "ban_keywords"], ...open });
    world.maxBodyBytes = 32 * 1024 * 1024;
    world.upstream = answering("fine");
    const { status: got } = await answerOf(world, { body: chatBody(BEYOND) });
    const outcomes = examined(world).map(({ labels }) => labels[1]);
    expect({ status: got, outcomes }).toEqual({ status, outcomes: ["failed"] });
  });
});
