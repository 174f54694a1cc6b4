/**
 * Boons that succeed on the running stack: images that a model describes for another one (docs/rules/boons.md#vision), and
 * requests that go upstream in fewer tokens (docs/rules/compression.md), with the reference sidecar and the real store.
 */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import { startChatScript } from "../harness/chat-script.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { BOON_SETTINGS } from "../harness/global-setup.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const DESCRIBER = BOON_SETTINGS.vision_fallback_model;
let upstream: Awaited<ReturnType<typeof startChatScript>>;
let describer: Model;

beforeAll(async () => {
  upstream = await startChatScript();
  describer = await fixture.gateway.must<Model>("POST", "/models", {
    model_name: DESCRIBER,
    api_base: upstream.url,
    upstream_model: DESCRIBER,
    supports_vision: true,
    input_cost_per_token: 0.001,
  });
});
afterAll(async () => {
  await fixture.gateway.must("DELETE", `/models/${describer.id}`);
  await upstream.close();
});

/** A tenant with a model of its own that has this boon. */
async function mint(boon: string, more: object = {}): Promise<Minted> {
  return await fixture.gateway.mint(upstream.url, `${boon}-${randomUUID()}`, { boons: [boon], ...more });
}

interface Answered {
  readonly content: string | undefined;
  readonly totalTokens: number | undefined;
  readonly requestId: string | null;
  readonly boons: string | null;
  readonly warnings: string | null;
  readonly compression: string | null;
}

async function chat(minted: Minted, messages: readonly object[]): Promise<Answered> {
  const response = await fixture.gateway.chat(minted, { body: { messages } });
  const header = (name: string): string | null => response.headers.get(name);
  const { choices, usage } = (await response.json()) as {
    readonly choices?: readonly { readonly message: { readonly content: string } }[];
    readonly usage?: { readonly total_tokens: number };
  };
  return {
    content: choices?.[0]?.message.content,
    totalTokens: usage?.total_tokens,
    requestId: header("x-gateway-request-id"),
    boons: header("x-gateway-boons"),
    warnings: header("x-gateway-boons-warning"),
    compression: header("x-gateway-compression"),
  };
}

/** The tenant's rows by type and admission, once there are so many. */
async function rowsOf(minted: Minted, count: number): Promise<readonly string[]> {
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length >= count,
  );
  return rows.map((row) => `${row.request_type} ${row.admission} ${row.model} ${row.total_tokens}`).toSorted();
}

const user = (content: unknown) => ({ role: "user", content });

it("vision: each image is described by the model that sees, and replaced", async () => {
  upstream.say(DESCRIBER, "A red door.");
  const minted = await mint("vision", { supports_vision: false });
  const name = minted.model.upstream_model;
  upstream.say(name, "It is red.");
  const text = { type: "text", text: "What colour is the door?" };
  const images = ["data:image/png;base64,iVBORw0KGgo=", "https://images.test/door.png"].map((url) => ({
    type: "image_url",
    image_url: { url, detail: "low" },
  }));
  const answered = await chat(minted, [user([text, ...images])]);
  expect(answered).toMatchObject({ content: "It is red.", boons: "vision", warnings: null, totalTokens: 33 });
  const description = { type: "text", text: "[Image description: A red door.]" };
  expect(upstream.seen(name)).toMatchObject([{ messages: [user([text, description, description])] }]);
  const asked = upstream.seen(DESCRIBER);
  expect(asked).toHaveLength(2);
  for (const image of images)
    expect(asked).toContainEqual({
      model: DESCRIBER,
      temperature: 0.2,
      messages: [user([{ type: "text", text: expect.stringContaining("Describe this image") as string }, image])],
    });
  const own = `chat fast ${minted.model.model_name} 33`;
  const described = `vision_boon boon ${DESCRIBER} 33`;
  expect(await rowsOf(minted, 3)).toEqual([own, described, described]);
});

const ROWS = Array.from({ length: 40 }, (_, at) => ({ id: at, city: `City ${at}`, people: at * 1000 }));
/** The short sentence answers the question, by words that are too short for the gateway's own scores. */
const PROSE = [
  ...Array.from(
    { length: 30 },
    (_, at) => `Long sentence number ${at} is all about boats and water and wide harbours.`,
  ),
  "The oak is 300.",
].join(" ");
const ASK = user("How old is the oak?");
const repeated = (about: string): string =>
  `Later copies of this text about ${about} are references. `.repeat(30).trim();
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

it("compression: tables, references the model can request, and sentences the sidecar chose", async () => {
  const minted = await mintCompressed();
  const [first, second] = [repeated("boats"), repeated("trains")];
  const texts = [JSON.stringify(ROWS, null, 2), first, first, PROSE].map(user);
  const answered = await chatWithReferences(minted, [...texts, ASK], sha256(first));
  expect(answered).toMatchObject({ content: "It is 300 years old.", totalTokens: 66, warnings: null });
  const [, before, after, saved] =
    /^before=(\d+);after=(\d+);saved=(\d+)$/.exec(answered.compression ?? "")?.map(Number) ?? [];
  expect(saved).toBe((before ?? 0) - (after ?? 0));
  expect(saved).toBeGreaterThan(500);

  const [sent, continued] = sentBy(minted).slice(-2);
  expect(sent?.tools.map((tool) => tool.function.name)).toEqual(["retrieve_original"]);
  const [table, kept, reference, prose, question] = sent?.messages.map(({ content }) => content) ?? [];
  expect(table).toMatch(/^\[table rows=40\]\ncity,id,people\n/);
  expect({ kept, question }).toEqual({ kept: first, question: ASK.content });
  expect(reference).toBe(`[ref:${sha256(first)}] (identical to the block above)`);
  // it gave the sentence before the answer a part of its score
  expect(prose).toMatch(/ 13 [^.]*\. \[… omitted\] Long sentence number 29 [^.]*\. The oak is 300\.$/);
  expect(continued?.messages.at(-1)).toMatchObject({ role: "tool", content: first });

  // the original of an earlier request comes from the store, for its own tenant only
  const repeats = [user(second), user(second), ASK];
  await waitFor(
    async () => {
      await chatWithReferences(minted, repeats, sha256(first));
      return sentBy(minted).at(-1)?.messages ?? [];
    },
    (messages) => messages.some(({ content }) => content === first),
  );
  const stranger = await mintCompressed();
  await chatWithReferences(stranger, repeats, sha256(first));
  expect(sentBy(stranger).at(-1)?.messages).toContainEqual({
    role: "tool",
    tool_call_id: expect.any(String) as string,
    content: expect.stringMatching(/^error: the original is no longer kept/) as string,
  });

  const types = new Set((await rowsOf(minted, 4)).map((row) => row.split(" ").slice(0, 2).join(" ")));
  expect([...types]).toEqual(["chat fast", "tool_loop boon"]);
});

interface SentChat {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
}

/** The chats that a tenant's model was sent. */
const sentBy = ({ model }: Minted): readonly SentChat[] =>
  upstream.seen(model.upstream_model) as readonly unknown[] as readonly SentChat[];

/** A tenant with every pass, and a model that can call tools. */
async function mintCompressed(): Promise<Minted> {
  const minted = await mint("compression", { supports_function_calling: true });
  const policy = { enabled: true, dedup: true, allow_lossy: true };
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/compression`, { policy });
  return minted;
}

/**
 * A chat whose model asks for the original of a reference. References need the store, which has a quarter of a second:
 * while that is too short, the chat is sent again.
 */
async function chatWithReferences(minted: Minted, messages: readonly object[], ref: string): Promise<Answered> {
  return await waitFor(
    async () => {
      upstream.say(minted.model.upstream_model, { tool: "retrieve_original", args: { ref } }, "It is 300 years old.");
      return await chat(minted, messages);
    },
    ({ boons }) => boons === "compression,tool_loop",
  );
}
