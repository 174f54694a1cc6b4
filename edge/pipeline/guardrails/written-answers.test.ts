/** What output guardrails read and write of an answer counts as memory for answers (docs/rules/guardrails.md#actions). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const MEMORY_BYTES = 4_000_000;
const texts = (count: number): readonly string[] => Array.from({ length: count }, () => "a");

/** An answer of these events, and the rest of the memory for answers. */
async function guarded(policy: object, events: readonly object[], type = "text/event-stream") {
  const world = worldOf({ output_scanners: ["ban_keywords"], fail_open: false, ...policy });
  world.memory.answerMemory = new MemoryBudget(MEMORY_BYTES);
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  world.upstream = async () => new Response(body, { headers: { "content-type": type } });
  const { status, text } = await answerOf(world, { body: chatBody("hi", { stream: true }) });
  return { status, text, sentBytes: body.length, leftBytes: world.memory.answerMemory.usedBytes };
}

describe("an answer whose texts are far longer with what tells them apart", () => {
  const deep = (depth: number): object =>
    depth === 0 ? { content: texts(4_000) } : { ["n".repeat(64)]: deep(depth - 1) };

  it("is not examined whole under block, and its memory comes back", async () => {
    const { status, leftBytes, sentBytes } = await guarded({ action: "block" }, [deep(13)]);
    expect({ status, leftBytes, isSmall: sentBytes < MEMORY_BYTES / 20 }).toEqual({
      status: 503,
      leftBytes: 0,
      isSmall: true,
    });
  });
});

it.each(["text/event-stream", "text/plain"])(
  "the rests of an answer's texts are no multiple of it: %s",
  async (type) => {
    const pairs = Array.from({ length: 20 }, () => [{ content: texts(400) }, { type: "x.completed" }]).flat();
    const events = [{ choices: [{ index: 0, delta: { content: "blue falcon" } }] }, ...pairs];
    const { status, text, sentBytes, leftBytes } = await guarded({ action: "redact" }, events, type);
    expect({
      status,
      length: text.length,
      isBounded: text.length < 4 * sentBytes,
      isRedacted: !text.includes("falcon"),
      leftBytes,
    }).toEqual({ status: 200, length: text.length, isBounded: true, isRedacted: true, leftBytes: 0 });
  },
);
