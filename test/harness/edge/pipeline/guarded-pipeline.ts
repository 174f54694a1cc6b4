/** A pipeline whose tenant has a guardrails policy, for tests of guardrails. */

import { run, runOther } from "../../../../edge/pipeline/run.ts";
import type { ResolvedTenant } from "../../../../shared/records.ts";
import { keyOf, modelOf, tenantOf } from "./records.ts";
import { bodyOf } from "./upstreams.ts";
import { TestPipeline } from "./world.ts";

export type GuardPolicy = NonNullable<ResolvedTenant["guardrails_policy"]>;

/** Blocks, and examines nothing yet. */
export const GUARD_POLICY: GuardPolicy = {
  action: "block",
  input_scanners: [],
  output_scanners: [],
  guard_model: null,
  ban_keywords: ["blue falcon"],
  fail_open: true,
  scan_assistant: false,
};
export const MAIL_TEXT = "write to jane@example.com";
export const HIDDEN_TEXT = "write to [REDACTED:EMAIL]";

/** A pipeline whose tenant has this policy; null: none. */
export function guardedWorldOf(
  policy: Partial<GuardPolicy> | null,
  tenant: Partial<ResolvedTenant> = {},
): TestPipeline {
  const world = new TestPipeline();
  world.maxBodyBytes = 8 * 1024 * 1024;
  const guardrails_policy = policy === null ? null : { ...GUARD_POLICY, ...policy };
  world.key = keyOf({ tenant: tenantOf({ guardrails_policy, tracing_enabled: true, ...tenant }) });
  world.model = modelOf({
    upstream_model: "tiny",
    prices: { ...modelOf().prices, input: 0.001, output: 0.001 },
  });
  return world;
}

export const guardedChatBody = (content: unknown, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ model: "tiny", messages: [{ role: "user", content }], ...more });

export async function guardedAnswerOf(world: TestPipeline, init: RequestInit = {}, path?: string, other = false) {
  if (path !== undefined) world.passthroughPaths = new Set([path]);
  const response = await (other ? runOther : run)(world.received(init, path));
  const text = await response.text();
  await world.settled();
  return { status: response.status, text, headers: response.headers };
}

export const sentBody = async (world: TestPipeline, nth = 0): Promise<string> =>
  await new Response(world.upstreamCalls[nth]?.body as BodyInit).text();

export const answeringText =
  (content: string, events = false): TestPipeline["upstream"] =>
  async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 22 };
    if (!events) return Response.json({ choices: [{ index: 0, message: { role: "assistant", content } }], usage });
    const pieces = [
      ...(content.match(/.{1,3}/gs) ?? []).map((piece) => ({ choices: [{ index: 0, delta: { content: piece } }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { choices: [], usage },
    ];
    const lines = [...pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`), "data: [DONE]\n\n"];
    const body = bodyOf(() => {
      const line = lines.shift();
      return line === undefined ? null : new Uint8Array(new TextEncoder().encode(line));
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

export const alertTexts = (world: TestPipeline): readonly string[] =>
  world.alerts.map(({ issueKey, detail }) => `${issueKey.replace(/_0000.*$/, "")}: ${detail}`);
