/**
 * What the official SDKs put together from an event stream is what guardrails examine, in whatever order its events come
 * (docs/rules/guardrails.md#split-texts). The SDKs themselves read each drawn stream: what their object contains and the
 * policy bans is found by `block`, and not in what `redact` sends, unless the stream counts as one that cannot be read.
 *
 * @module-tag check
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { chatChunks, type Event, messageEvents, responseEvents } from "../../../test/harness/edge/drawn-streams.ts";
import { concat } from "../wire/bytes/byte-pieces.ts";
import { SseFilter } from "../wire/sse/sse-filter.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const RUNS = { numRuns: 200, seed: 20_271, endOnFailure: true };

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const bytesOf = (events: readonly Event[]): Uint8Array =>
  encoder.encode(
    events
      .map((event) => {
        const { type } = event;
        return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
      })
      .join(""),
  );

/** Every string of a value. */
function stringsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

/** Whether a text that a client has seen is banned, other than as the start of what it became. */
const bannedIn = (seen: readonly string[]): readonly string[] =>
  seen.filter(
    (text, at) => isBanned(text) && !seen.slice(at + 1).some((later) => later !== text && later.startsWith(text)),
  );

const isBanned = (...parts: readonly string[]): boolean =>
  scan.redactTexts(parts.map((text) => ({ text, user: false }))).texts.some((text, at) => text !== parts[at]);

/** True if `block` refuses the answer, or cannot read it; `answers`: so many were asked for. */
function isBlocked(bytes: Uint8Array, answers?: number): boolean {
  const texts = new CollectedTexts(undefined, answers);
  const filter = new SseFilter([texts], true);
  filter.push(bytes);
  filter.finish();
  return atOnce(texts.texts()).some((parts) => isBanned(...parts)) || !texts.plain;
}

/** What `redact` sends until it breaks off. */
function redacted(bytes: Uint8Array, answers?: number): Uint8Array {
  const events = new RedactingEvents(scan, new RedactionTally(), undefined, false, answers);
  const sent: Uint8Array[] = [];
  try {
    for (const event of decoder.decode(bytes).split(/(?<=\n\n)/))
      sent.push(atOnce(events.event(encoder.encode(event))));
    sent.push(atOnce(events.finish()));
  } catch (error) {
    expect(String(error)).toContain("an event that cannot be read");
  }
  return concat(sent);
}

interface Item {
  readonly content?: { text: string }[];
  arguments?: string;
}
interface ResponseEvent {
  readonly type: string;
  readonly output_index: number;
  readonly content_index: number;
  readonly response?: { readonly output: readonly Item[] };
  readonly item?: Item;
  readonly part?: { text: string };
  readonly delta: string;
}

const dataOf = (bytes: Uint8Array): unknown[] =>
  [...decoder.decode(bytes).matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json));

/** The texts that a client has seen when the stream has ended, or when it refused to read on. */
type Reader = (bytes: Uint8Array) => Promise<readonly string[]>;

const answering = (bytes: Uint8Array) => () =>
  Promise.resolve(new Response(bytes, { headers: { "content-type": "text/event-stream" } }));
const messages = [{ role: "user" as const, content: "a" }];

const asked = { model: "m", max_tokens: 1, messages };

const readMessages: Reader = async (bytes) => {
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(bytes) });
  const seen: string[] = [];
  const stream = client.messages.stream(asked);
  stream.on("streamEvent", (_, { content }) => {
    seen.push(...stringsOf(content));
  });
  await stream.done().catch(() => undefined);
  return seen;
};

const readBeta: Reader = async (bytes) => {
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(bytes) });
  const seen: string[] = [];
  const stream = client.beta.messages.stream(asked);
  stream.on("streamEvent", (_, { content }) => {
    seen.push(...stringsOf(content));
  });
  await stream.done().catch(() => undefined);
  return seen;
};

const readResponses: Reader = async (bytes) => {
  const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(bytes) });
  const seen: string[] = [];
  const stream = client.responses.stream({ model: "m", input: "a" });
  stream.on("response.output_text.delta", ({ snapshot }) => seen.push(snapshot));
  stream.on("response.function_call_arguments.delta", ({ snapshot }) => seen.push(snapshot));
  const response = await stream.finalResponse().catch(() => null);
  return [...seen, ...stringsOf(response?.output)];
};

/** As OpenAI's Python SDK reads: it appends what starts, and then finds it by its position. */
const readByPosition: Reader = async (bytes) => {
  const output: Item[] = [];
  const seen: string[] = [];
  for (const event of dataOf(bytes) as ResponseEvent[]) {
    const item = output.at(event.output_index);
    const content = item?.content?.at(event.content_index);
    if (event.type === "response.created") output.push(...(event.response?.output ?? []));
    if (event.type === "response.output_item.added" && event.item !== undefined) output.push(event.item);
    if (event.type === "response.content_part.added" && event.part !== undefined) item?.content?.push(event.part);
    if (event.type === "response.output_text.delta" && content !== undefined) content.text += event.delta;
    if (event.type === "response.function_call_arguments.delta" && item?.arguments !== undefined)
      item.arguments += event.delta;
    seen.push(...stringsOf(output));
  }
  return seen;
};

const readChat: Reader = async (bytes) => {
  const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(bytes) });
  const seen: string[] = [];
  let chunks = 0;
  const stream = client.chat.completions.stream({ model: "m", messages });
  stream.on("chunk", (_, { choices }) => {
    chunks += 1;
    for (const { message } of choices.filter(Boolean)) seen.push(...stringsOf(message));
  });
  await stream.done().catch(() => undefined);
  // a stream that it refuses to read on has only started
  return chunks === dataOf(bytes).length ? seen : [];
};

/** Reads one answer, whatever the number of its choice. */
const readAnyChoice: Reader = async (bytes) => {
  const provider = createOpenAICompatible({ name: "x", baseURL: "http://x", fetch: answering(bytes) });
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "a" }] }];
  const texts: Record<string, string> = {};
  const { stream } = await provider("m").doStream({ prompt });
  for await (const part of stream as unknown as AsyncIterable<{ type: string; id?: string; delta?: string }>)
    if (part.delta !== undefined)
      texts[`${part.type} ${part.id}`] = `${texts[`${part.type} ${part.id}`] ?? ""}${part.delta}`;
  return Object.values(texts);
};

/** A loop over chunks, as many clients have it: the texts of each choice, by its index. */
const readChunks: Reader = async (bytes) => {
  const texts: Record<string, string> = {};
  for (const { choices } of dataOf(bytes) as { choices: { index: string; delta?: { content?: string | number } }[] }[])
    for (const { index, delta } of choices)
      if (delta?.content !== undefined) texts[index] = `${texts[index] ?? ""}${delta.content}`;
  return Object.values(texts);
};

const request = { model: "m", messages, stream: true } as const;

/** What a loop over the events of an SDK has joined when the stream ends, or when the SDK ends it. */
const joinedBy =
  <T>(
    events: (bytes: Uint8Array) => PromiseLike<AsyncIterable<T>>,
    textIn: (event: T) => string | null | undefined,
  ): Reader =>
  async (bytes) => {
    let text = "";
    try {
      for await (const event of await events(bytes)) text += textIn(event) ?? "";
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
    return [text];
  };

const openai = (bytes: Uint8Array): OpenAI =>
  new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(bytes), logLevel: "off" });
const anthropic = (bytes: Uint8Array): Anthropic =>
  new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(bytes), logLevel: "off" });

const loopOfChat = joinedBy(
  (bytes) => openai(bytes).chat.completions.create(request),
  // a wrapped event has no choices
  ({ choices }) => choices?.[0]?.delta.content,
);
const loopOfMessages = joinedBy(
  (bytes) => anthropic(bytes).messages.create({ ...asked, stream: true }),
  (event) => (event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : ""),
);
const loopOfTranscripts = joinedBy(
  (bytes) => openai(bytes).audio.transcriptions.create({ file: new File(["a"], "a.wav"), model: "m", stream: true }),
  (event) => (event.type === "transcript.text.delta" ? event.delta : ""),
);

/** The final message of a chat, and what its readers get from the JSON in it. */
const readParsed: Reader = async (bytes) => {
  const { choices } = await openai(bytes).chat.completions.stream({ model: "m", messages }).finalChatCompletion();
  const [choice] = choices;
  const call = choice?.message.tool_calls?.[0];
  const json = call?.type === "function" ? call.function.arguments : (choice?.message.content ?? "");
  return [json, ...stringsOf(await new Response(json).json().catch(() => null))];
};

/** However many answers there are. */
const ANY = Number.POSITIVE_INFINITY;

describe("what a client puts together from a stream", () => {
  it.each<readonly [string, fc.Arbitrary<readonly Event[]>, Reader, answers: number]>([
    ["Anthropic's client", messageEvents, readMessages, ANY],
    ["Anthropic's beta client", messageEvents, readBeta, ANY],
    ["OpenAI's client of responses", responseEvents, readResponses, ANY],
    ["a client of responses that counts", responseEvents, readByPosition, ANY],
    ["OpenAI's client of chat", chatChunks, readChat, ANY],
    ["the AI SDK's client of chat", chatChunks, readAnyChoice, 1],
    ["a loop over chunks of chat", chatChunks, readChunks, ANY],
  ])("has nothing banned that no policy sees: %s", async (_, streams, read, answers) => {
    let banned = 0;
    await fc.assert(
      fc.asyncProperty(streams, async (events) => {
        const bytes = bytesOf(events);
        const seen = bannedIn(await read(bytes));
        if (seen.length > 0) banned += 1;
        const shown = bannedIn(await read(redacted(bytes, answers)));
        expect({ passed: isBlocked(bytes, answers) ? [] : seen, shown }).toEqual({ passed: [], shown: [] });
      }),
      RUNS,
    );
    // enough of the drawn streams show something
    expect(banned).toBeGreaterThan(RUNS.numRuns / 10);
  });
});

describe("what an official client shows of one stream", () => {
  const data = (value: object, name = ""): string => `${name}data: ${JSON.stringify(value)}\n\n`;
  const chat = (content: string, name = "", more: object = {}): string =>
    data({ choices: [{ index: 0, delta: { content } }], ...more }, name);
  const block = (text: string, name = "event: content_block_delta\n"): string =>
    data({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }, name);
  const transcript = (delta: string, more: object): string => data({ type: "transcript.text.delta", delta, ...more });
  const ended = (delta: object, finish_reason: string): string =>
    data({
      id: "c",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }],
    });
  const args = (text: string, more: object = {}): object => ({
    tool_calls: [{ index: 0, ...more, function: { name: "f", arguments: text } }],
  });
  const stopped = (event: string): string => `${chat("zanzibarx")}${event}${chat("zzz")}data: [DONE]\n\n`;
  const skipped = (...events: string[]): string => `${events.join("")}data: [DONE]\n\n`;

  it.each<readonly [string, Reader, string]>([
    ["before an error", loopOfChat, stopped(data({ error: { message: "x" } }))],
    ["beside an error", loopOfChat, `${chat("zanzibarx")}${chat("zzz", "", { error: "x" })}`],
    ["before an event named as an error", loopOfChat, stopped(data({ message: "x" }, "event: error\n"))],
    ["beside the name of an error", loopOfChat, `${chat("zanzibarx")}${chat("zzz", "event: error\n")}`],
    ["before data that is not JSON", loopOfChat, stopped("data: oops\n\n")],
    ["before empty data", loopOfChat, stopped("data:\n\n")],
    ["before more than the end", loopOfChat, stopped("data: [DONE]x\n\n")],
    ["before a name without data", loopOfChat, stopped("event: x\n\n")],
    [
      "before an error of Messages",
      loopOfMessages,
      `${block("zanzibarx")}${data({ type: "ping" }, "event: error\n")}${block("zzz")}`,
    ],
    [
      "around an event of another name",
      loopOfChat,
      skipped(chat("zanzi"), chat("q", "event: thread.y\n"), chat("barx", "event: thread.x\nevent\n")),
    ],
    [
      "around an event of another name, which it all names",
      loopOfChat,
      skipped(
        chat("zanzi", "event: thread.x\nevent\n"),
        chat("q", "event: thread.y\n"),
        chat("barx", "event: thread.x\nevent\n"),
      ),
    ],
    [
      "under unknown names of Messages",
      loopOfMessages,
      `${block("zanzi", "event: foo\n")}${block("q", "event: ping\n")}${block("barx", "event: foo\n")}`,
    ],
    [
      "under an unknown name of Messages",
      loopOfMessages,
      `${block("zanzi")}${block("q", "event: ping\n")}${block("barx", "event: foo\n")}`,
    ],
    ["under no name of Messages", loopOfMessages, `${block("zanzi")}${block("q", "")}${block("barx", "event\n")}`],
    [
      "of a transcript with numbers",
      loopOfTranscripts,
      `${transcript("zanzi", { index: 0 })}${transcript("barx", { index: 1 })}`,
    ],
    [
      "of a transcript with ids",
      loopOfTranscripts,
      `${transcript("zanzi", { item_id: "a" })}${transcript("barx", { item_id: "b" })}`,
    ],
    [
      "of JSON that ends in a string, and continues",
      readParsed,
      `${ended({ content: '{"a":"' }, "stop")}${ended({ content: '\\u007aanzibarx 4111 1111 1111 111\\u0031"}' }, "stop")}`,
    ],
    [
      "of JSON that ends in an escape, and continues",
      readParsed,
      `${ended({ content: '{"a":"\\u00' }, "stop")}${ended({ content: '7aanzibarx"}' }, "stop")}`,
    ],
    [
      "of arguments that end between strings, and go on twice",
      readParsed,
      ['{"a":1', ',"b":"\\u007aan', 'zibarx"}']
        .map((text) => ended(args(text, { id: "1", type: "function" }), "tool_calls"))
        .join(""),
    ],
    [
      "of JSON that ends before it begins",
      readParsed,
      `${ended({ content: " " }, "stop")}${ended({ content: '{"a":"\\u007aanzibarx"}' }, "stop")}`,
    ],
  ])("is found or unread, and not sent: a text %s", async (_, read, stream) => {
    const bytes = encoder.encode(stream);
    const [seen, shown] = [await read(bytes), await read(redacted(bytes))];
    expect({ isShown: bannedIn(seen).length > 0, isBlocked: isBlocked(bytes), sent: bannedIn(shown) }).toEqual({
      isShown: true,
      isBlocked: true,
      sent: [],
    });
  });
});
