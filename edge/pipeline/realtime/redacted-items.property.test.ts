/**
 * The items that the model reads if a policy redacts them, one after another (docs/rules/realtime.md#guardrails).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { guardedWorldOf } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";

interface Said {
  readonly role: string;
  readonly texts: readonly string[];
}

const user = (...texts: readonly string[]): Said => ({ role: "user", texts });

/** The texts that go upstream, with the codes of the others. */
async function redacted(items: readonly Said[]) {
  const world = guardedWorldOf({ action: "redact", ban_keywords: ["secretword"], input_scanners: ["ban_keywords"] });
  const { client, upstream } = await openSession(world);
  for (const { role, texts } of items) {
    const item = { type: "message", role, content: texts.map((text) => ({ type: "input_text", text })) };
    client.says({ type: "conversation.item.create", item });
  }
  await waitFor(
    () => upstream.sent.length + client.sent.length,
    (count) => count >= items.length,
  );
  const sent = upstream.events.map(({ item }) => {
    const { role, content } = item as { readonly role: string; readonly content: readonly { readonly text: string }[] };
    return { role, texts: content.map(({ text }) => text) };
  });
  return { sent, codes: client.events.map(({ error }) => (error as { readonly code: string }).code) };
}

const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["secretword"] });

/** Whether a model that reads the items in this order reads banned text. */
function isFound(items: readonly Said[]): boolean {
  const texts = items.flatMap((one) => one.texts.map((text) => ({ text, user: one.role === "user" })));
  return [...atOnce(scan.scanning(texts, { units: Number.POSITIVE_INFINITY }))].length > 0;
}

describe("a redacted item", () => {
  it.each([
    ["is sent again", [["please sec"], ["retword"], ["retword go"]], [["please sec"], [""], [" go"]]],
    ["is twice in an item", [["please sec"], ["retword", "retword go"]], [["please sec"], ["", " go"]]],
    ["is split in three", [["please secretwo"], ["rd"], ["rd go"]], [["please secretwo"], [""], [" go"]]],
  ])("completes no match with what the model has: the end %s", async (_, given, sent) => {
    expect((await redacted(given.map((texts) => user(...texts)))).sent.map(({ texts }) => texts)).toEqual(sent);
  });

  it("that completes one match after another is blocked", async () => {
    const many = Array.from({ length: 9 }, () => "retword");
    const { sent, codes } = await redacted([user("sec"), user(...many), user("ret"), user("word")]);
    expect({ texts: sent.map(({ texts }) => texts.join()), codes }).toEqual({
      texts: ["sec", "ret", ""],
      codes: ["request_blocked"],
    });
  });

  it("leaves no match in what the model reads, with system messages where they stand or first", async () => {
    const text = fc.constantFrom("sec", "ret", "word", "retword", "retword go", "please sec", "a secretword", " ", "x");
    const item = fc.record({
      role: fc.constantFrom("user", "system"),
      texts: fc.array(text, { minLength: 1, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 6 }), async (items) => {
        const { sent } = await redacted(items);
        const ofSystem = sent.filter(({ role }) => role === "system");
        const ofUser = sent.filter(({ role }) => role === "user");
        expect([sent, [...ofSystem, ...ofUser]].map(isFound)).toEqual([false, false]);
      }),
    );
  });
});
