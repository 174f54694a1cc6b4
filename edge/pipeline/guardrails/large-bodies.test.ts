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

const FOLDED = Array.from({ length: 9 }, () => `{"text":"${"\ufdfa".repeat(280)}"}`).join(",");
const message = (role: string): string => `{"role":"${role}","content":[${FOLDED},{"text":"${MAIL}"}]}`;
/** Below the limit in bytes: letters that fold to eighteen, in many parts, which models may read in two orders. */
const MUCH_WORK = `{"model":"tiny","messages":[${message("user")},${message("system")}]}`;
const WORDS: Parameters<typeof worldOf>[0] = {
  action: "block",
  input_scanners: ["pii", "ban_keywords", "prompt_injection"],
  ban_keywords: ["two words"],
};

describe("a small body that is much work", () => {
  it("is not examined for a tenant whose budget refuses it", async () => {
    const world = worldOf(WORDS);
    const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;
    world.answers = [{ verdict: "refused", refusal, permit: world.permit }];
    const { status } = await answerOf(world, { body: MUCH_WORK });
    expect({ status, examined: examined(world), isSmall: MUCH_WORK.length < 16 * 1024 }).toEqual({
      status: 403,
      examined: [],
      isSmall: true,
    });
  });

  it("is examined once when it has its slot", async () => {
    const world = worldOf(WORDS);
    const { status } = await answerOf(world, { body: MUCH_WORK });
    expect({
      status,
      admitted: world.requests.length,
      outcomes: examined(world).map(({ labels }) => labels[1]),
    }).toEqual({
      status: 400,
      admitted: 1,
      outcomes: ["hit"],
    });
  });

  it.each([
    [
      "a conversation",
      { messages: Array.from({ length: 60 }, () => ({ role: "user", content: "so it goes, ".repeat(19) })) },
    ],
    ["one text", { messages: [{ role: "user", content: "so it goes, ".repeat(1_300) }] }],
    ["Chinese", { messages: [{ role: "user", content: "\u4f60\u597d".repeat(2_600) }] }],
    [
      "tools",
      {
        messages: [{ role: "user", content: "hi" }],
        tools: Array.from({ length: 38 }, (_, at) => ({
          type: "function",
          function: {
            name: `get_${at}`,
            description: "what this tool does for others, at length ".repeat(6),
            parameters: { type: "object", properties: { city: { type: "string", description: "the name of a city" } } },
          },
        })),
      },
    ],
  ])("is none with ordinary texts, which are examined first: %s", async (_, body) => {
    const world = worldOf(WORDS);
    const messages = [...body.messages, { role: "user", content: MAIL }];
    const json = JSON.stringify({ model: "tiny", ...body, messages });
    const { status } = await answerOf(world, { body: json });
    const bytes = new TextEncoder().encode(json).byteLength;
    expect({ status, admitted: world.requests.length, isNearLimit: bytes > 14_000 && bytes <= 16 * 1024 }).toEqual({
      status: 400,
      admitted: 0,
      isNearLimit: true,
    });
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
