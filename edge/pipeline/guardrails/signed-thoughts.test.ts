/** Thoughts of earlier answers that a policy changes in a request (docs/rules/guardrails.md#actions). */
import { beforeEach, expect, it, vi } from "vitest";
import {
  guardedAnswerOf as answerOf,
  HIDDEN_TEXT as HIDDEN,
  MAIL_TEXT as MAIL,
  sentBody as sent,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

async function sentAs(path: string, members: object, api_dialect: "anthropic" | "openai" = "openai") {
  const world = worldOf({ action: "redact", input_scanners: ["pii"], scan_assistant: true });
  world.model = modelOf({ api_dialect });
  await answerOf(world, { body: JSON.stringify({ model: "tiny", ...members }) }, path);
  return JSON.parse(await sent(world));
}

it("a signed thought keeps its signature unless it is redacted", async () => {
  const thought = (thinking: string, signature = "c2ln") => ({ type: "thinking", thinking, signature });
  const content = [thought(MAIL), thought("nothing")];
  const messages = [{ role: "assistant", content }];
  const { messages: told } = await sentAs("/v1/messages", { max_tokens: 9, messages }, "anthropic");
  expect(told[0].content).toEqual([thought(HIDDEN, ""), thought("nothing")]);
});

it("a redacted item of reasoning loses its signature, and keeps what other APIs seal", async () => {
  const item = (text: string, encrypted_content: string) => ({
    type: "reasoning",
    summary: [text, text].map((one) => ({ type: "summary_text", text: one })),
    encrypted_content,
  });
  const signature = "anthropic:signature:c2ln";
  const input = [item(MAIL, signature), item("nothing", signature), item(MAIL, "gAAAA")];
  const { input: told } = await sentAs("/v1/responses", { input });
  expect(told).toEqual([item(HIDDEN, ""), item("nothing", signature), item(HIDDEN, "gAAAA")]);
});
