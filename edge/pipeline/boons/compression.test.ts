/**
 * Compression of whole requests: which passes run for whom, which texts are never touched, which headers the client gets, and
 * that every failure leaves the request unchanged (docs/rules/compression.md).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { sha256Hex } from "../../../shared/crypto/sha256.ts";
import type { ModelRecord, ResolvedTenant } from "../../../shared/records.ts";
import { boonsValueSchema } from "../../../shared/schema/settings/boons.ts";
import { atOnce } from "../../../shared/steps.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, modelOf, settingsOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { authenticate } from "../authenticate/authenticate.ts";
import type { OwnTool } from "../call/boon/boon.ts";
import { RequestDraft } from "../call/boon/request-draft.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { prepare } from "../prepare/prepare.ts";
import { startCall } from "../receive/start-call.ts";
import { parseCall } from "../resolve-model/parse-call.ts";
import { resolveModel } from "../resolve-model/resolve-model.ts";
import { run } from "../run.ts";
import { compressionBoon } from "./compression.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const ROWS = Array.from({ length: 40 }, (_, at) => ({ id: at, city: `City ${at}`, population: at * 1000 }));
const JSON_TEXT = JSON.stringify(ROWS, null, 2);
const CODE = `\`\`\`js\n${`call();${" ".repeat(30)}\n\n\n`.repeat(40)}\`\`\``;
const LOG = Array.from({ length: 40 }, (_, at) => `2026-01-01T00:00:${at} INFO handled request ${at}`).join("\n");
const PROSE = Array.from({ length: 30 }, (_, at) => `Sentence number ${at} speaks about something else entirely.`).join(
  " ",
);
const DOCUMENT = "Every later copy of this text is a reference to the first one. ".repeat(20).trim();
const ASK = { role: "user", content: "Which city is the largest?" };

interface Given {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly tenant?: Partial<ResolvedTenant>;
  readonly model?: Partial<ModelRecord>;
  readonly header?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

const ALL = {
  compression_enabled: true,
  compression_code_compaction: true,
  compression_dedup: true,
  compression_allow_lossy: true,
};

/** Sends messages; returns the request to the upstream, and the client's answer. */
async function send(world: TestPipeline, messages: readonly unknown[], given: Given = {}) {
  world.maxBodyBytes = 10_000_000;
  world.key = keyOf({ tracing_enabled: true, tenant: tenantOf(given.tenant) });
  world.model = modelOf({ boons: ["compression"], ...given.model });
  world.settings.set("boons", settingsOf({ compression_enabled: true, ...given.settings }));
  let sent: { readonly messages: readonly { readonly content: unknown }[] } = { messages: [] };
  world.upstream = async ({ body }) => {
    sent = (await new Response(body as BodyInit).json()) as typeof sent;
    return Response.json({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } });
  };
  const received = world.received({
    headers: {
      authorization: `Bearer sk_${"ab".repeat(24)}`,
      "content-type": "application/json",
      ...(given.header === undefined ? {} : { "x-gateway-boons": given.header }),
    },
    body: JSON.stringify({ model: "tiny", messages, ...given.body }),
  });
  const response = await run(received);
  await response.text();
  await world.settled();
  const contents = Array.isArray(sent.messages) ? sent.messages.map((message) => message?.content) : [];
  return { sent, contents, headers: response.headers };
}

const isTable = expect.stringMatching(/^\[table rows=40\]\ncity,id,population\n/) as string;

describe("compression", () => {
  it("says what it has saved: header, span, metric", async () => {
    const world = new TestPipeline();
    const { contents, headers } = await send(world, [{ role: "tool", tool_call_id: "1", content: JSON_TEXT }, ASK]);
    expect(contents).toEqual([isTable, ASK.content]);
    const [, before, after, saved] =
      /^before=(\d+);after=(\d+);saved=(\d+)$/.exec(headers.get("x-gateway-compression") ?? "") ?? [];
    expect(Number(before) - Number(after)).toBe(Number(saved));
    expect(Number(saved)).toBeGreaterThan(200);
    expect(headers.get("x-gateway-boons")).toBe("compression");
    expect(world.events).toContainEqual({
      metric: "gateway_compression_tokens_saved_total",
      labels: [],
      times: Number(saved),
    });
    expect(world.spans.find(({ span_name }) => span_name === "boon:compression")?.attributes).toEqual({
      json_compacted: 1,
      dedup_refs: 0,
      lossy_segments: 0,
      before_tokens: Number(before),
      after_tokens: Number(after),
      tokens_saved: Number(saved),
    });
  });

  it("discards a result that is not smaller", async () => {
    const world = new TestPipeline();
    const { contents, headers } = await send(world, [{ role: "user", content: PROSE }, ASK]);
    expect(contents).toEqual([PROSE, ASK.content]);
    expect(headers.get("x-gateway-boons")).toBeNull();
    expect(headers.get("x-gateway-compression")).toMatch(/^before=(\d+);after=\1;saved=0$/);
    expect(world.events.filter(({ metric }) => metric === "gateway_compression_tokens_saved_total")).toEqual([]);
  });

  it("leaves system and developer messages, tool calls, the last question and its answers alone", async () => {
    const calls = [{ id: "1", type: "function", function: { name: "f", arguments: JSON_TEXT } }];
    const messages = [
      { role: "system", content: JSON_TEXT },
      { role: "developer", content: JSON_TEXT },
      { role: "assistant", content: JSON_TEXT, tool_calls: calls },
      {
        role: "user",
        content: [
          { type: "text", text: JSON_TEXT },
          { type: "image_url", image_url: { url: "data:," } },
          { type: "text", text: JSON_TEXT },
        ],
      },
      { role: "assistant", content: JSON_TEXT, tool_calls: calls },
      { role: "tool", tool_call_id: "1", content: JSON_TEXT },
    ];
    const { sent } = await send(new TestPipeline(), messages);
    expect(sent.messages).toEqual([
      messages[0],
      messages[1],
      { ...messages[2], content: isTable },
      {
        role: "user",
        content: [
          { type: "text", text: isTable },
          { type: "image_url", image_url: { url: "data:," } },
          { type: "text", text: JSON_TEXT },
        ],
      },
      messages[4],
      { ...messages[5], content: isTable },
    ]);
  });

  it.each([
    ["the model does not list it", { model: { boons: ["vision"] } }],
    ["its switch is off", { settings: { compression_enabled: false } }],
    [
      "the tenant's policy is off",
      { tenant: { compression_policy: { enabled: false, code_compaction: true, dedup: true, allow_lossy: true } } },
    ],
    [
      "the tenant's policy is off, whatever the header says",
      {
        header: "lossy",
        tenant: { compression_policy: { enabled: false, code_compaction: true, dedup: true, allow_lossy: true } },
      },
    ],
    ["the request says off", { header: "off" }],
  ])("does nothing when %s", async (_, given) => {
    const { contents, headers } = await send(new TestPipeline(), [{ role: "user", content: JSON_TEXT }, ASK], given);
    expect(contents).toEqual([JSON_TEXT, ASK.content]);
    expect(headers.get("x-gateway-compression")).toBeNull();
  });

  it("runs the passes that policy, switches and header allow", async () => {
    const policy = { enabled: true, code_compaction: false, dedup: false, allow_lossy: false };
    const messages = [CODE, LOG, DOCUMENT, DOCUMENT].map((content) => ({ role: "user", content }));
    const changed = async (given: Given): Promise<readonly boolean[]> => {
      const { contents } = await send(new TestPipeline(), [...messages, ASK], given);
      return messages.map(({ content }, at) => contents[at] !== content);
    };
    expect(await changed({})).toEqual([false, false, false, false]);
    expect(await changed({ settings: ALL })).toEqual([true, true, false, true]);
    expect(await changed({ settings: ALL, tenant: { compression_policy: policy } })).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(
      await changed({ tenant: { compression_policy: { ...policy, code_compaction: true, dedup: true } } }),
    ).toEqual([true, false, false, true]);
    expect(await changed({ header: "LOSSY, x", tenant: { compression_policy: policy } })).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("leaves messages that cannot be written again, and whatever is no list of messages", async () => {
    const { sent } = await send(new TestPipeline(), [{ role: "user", content: JSON_TEXT, weight: 2 ** 60 }, ASK]);
    expect(sent.messages[0]?.content).toBe(JSON_TEXT);
    for (const odd of [
      "text",
      [null, 5, "x", [], { role: "user" }, { role: "user", content: [null, { type: "text", text: 7 }] }],
    ]) {
      const { sent: kept } = await send(new TestPipeline(), [], { body: { messages: odd } });
      expect(kept.messages).toEqual(odd);
    }
  });
});

describe("deduplication", () => {
  const messages = [{ role: "user", content: DOCUMENT }, { role: "user", content: DOCUMENT }, ASK];
  const reference = `[ref:${sha256Hex(DOCUMENT)}] (identical to the block above)`;

  it("keeps the original for the tenant", async () => {
    const world = new TestPipeline();
    const { contents } = await send(world, messages, {
      settings: { compression_dedup: true, compression_original_ttl_secs: 77 },
    });
    expect(contents).toEqual([DOCUMENT, reference, ASK.content]);
    expect([...world.originals.kept]).toEqual([
      [`${tenantOf().id}:${sha256Hex(DOCUMENT)}`, { text: DOCUMENT, ttlSecs: 77 }],
    ]);
  });

  const tool = { type: "function", function: { name: "retrieve_original", parameters: {} } };
  const named = (_: unknown, at: number) => ({ ...tool, function: { name: `f${at}` } });
  it.each([
    ["the model calls no functions", { model: { supports: { ...modelOf().supports, function_calling: false } } }],
    ["the client has a tool of that name", { body: { tools: [tool] } }],
    ["the client wants two answers", { body: { n: 2 } }],
    ["the client calls functions in the older way", { body: { functions: [{ name: "f" }] } }],
    ["the client has as many tools as there may be", { body: { tools: Array.from({ length: 128 }, named) } }],
    ["a member is longer than is held", { body: { metadata: { long: "x".repeat(300_000) } } }],
    ["the client forbids tools", { body: { tools: [{ ...tool, function: { name: "x" } }], tool_choice: "none" } }],
  ])("does nothing when %s", async (_, given) => {
    const { contents } = await send(new TestPipeline(), messages, { settings: { compression_dedup: true }, ...given });
    expect(contents).toEqual(messages.map(({ content }) => content));
  });

  it("does nothing when the store fails", async () => {
    const world = new TestPipeline();
    world.originals.isDown = true;
    const { contents } = await send(world, messages, { settings: { compression_dedup: true } });
    expect(contents).toEqual(messages.map(({ content }) => content));
  });
});

describe("retrieve_original", () => {
  /** The tool that a request with references gets. */
  async function toolOf(world: TestPipeline) {
    world.maxBodyBytes = 100_000;
    world.model = modelOf({ boons: ["compression"] });
    const messages = [{ role: "user", content: DOCUMENT }, { role: "user", content: DOCUMENT }, ASK];
    const call = startCall(world.received({ body: JSON.stringify({ model: "tiny", messages }) }));
    const caller = await authenticate(call, NOTHING_KNOWN);
    const request = await prepare(call, await resolveModel(call, await parseCall(call, caller)));
    const ownTools: OwnTool[] = [];
    const settings = boonsValueSchema.parse({ compression_enabled: true, compression_dedup: true });
    const draft = new RequestDraft(request.parsed.outgoing, async (work) => atOnce(work));
    await compressionBoon.apply({ call, request, settings, draft, directive: { lossy: false }, ownTools });
    expect(ownTools.map(({ definition }) => definition.function.name)).toEqual(["retrieve_original"]);
    return async (args: unknown) => await ownTools[0]?.run(args);
  }

  it("gives the model the original, of this request also without the store", async () => {
    const world = new TestPipeline();
    const retrieve = await toolOf(world);
    await world.originals.keep(tenantOf().id, new Map([["ab".repeat(32), "from before"]]), 1);
    expect(await retrieve({ ref: "ab".repeat(32) })).toBe("from before");
    world.originals.isDown = true;
    expect(await retrieve({ ref: sha256Hex(DOCUMENT) })).toBe(DOCUMENT);
    expect(await retrieve({ ref: "ab".repeat(32) })).toMatch(/^error: the original is no longer kept/);
  });

  it("never gives a tenant another tenant's text", async () => {
    const world = new TestPipeline();
    const retrieve = await toolOf(world);
    await world.originals.keep("another tenant", new Map([["ab".repeat(32), "theirs"]]), 1);
    expect(await retrieve({ ref: "ab".repeat(32) })).toMatch(/^error: /);
  });

  it.each([undefined, null, "x", 5, {}, { ref: 5 }, { ref: "../x" }, []])(
    "says what is wrong with %j",
    async (args) => {
      const retrieve = await toolOf(new TestPipeline());
      expect(await retrieve(args)).toMatch(/^error: ref must be/);
    },
  );
});

describe("prose", () => {
  const lossy = { settings: { ...ALL, compression_dedup: false, compression_max_lossy_segments: 2 } };

  it("drops what the sidecar scores lowest, in as many texts as the limit allows", async () => {
    const world = new TestPipeline();
    const asked: unknown[] = [];
    world.compressor = async (segments, query) => {
      asked.push([segments.length, query]);
      return segments.map((sentences) => sentences.map((_, at) => -at));
    };
    const texts = ["a", "b", "c"].map((mark) => ({ role: "user", content: `${PROSE} Ends with ${mark}.` }));
    const { contents } = await send(world, [...texts, ASK], lossy);
    expect(asked).toEqual([[2, ASK.content]]);
    const half = `${PROSE.split(" Sentence number 16")[0]} [… omitted]`;
    expect(contents).toEqual([half, half, texts[2]?.content, ASK.content]);
  });

  it("stays as it is when the sidecar fails, and logs stay compacted", async () => {
    const world = new TestPipeline();
    world.compressor = async () => null;
    const { contents, headers } = await send(
      world,
      [{ role: "user", content: PROSE }, { role: "tool", content: LOG }, ASK],
      lossy,
    );
    expect(contents[0]).toBe(PROSE);
    expect(contents[1]).toBe("2026-01-01T00:00:0 INFO handled request 0 (×40) [… omitted]");
    expect(headers.get("x-gateway-boons-warning")).toBeNull();
  });
});
