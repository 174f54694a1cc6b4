/** Lines of JSON where neither a document nor an event stream has them (docs/rules/guardrails.md#failures). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  guardedAnswerOf as answerOf,
  guardedChatBody as chatBody,
  type GuardPolicy,
  guardedWorldOf as worldOf,
} from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const LINES = "application/x-ndjson";
const EVENTS = "text/event-stream";
const CLOSED = { fail_open: false };
const chunkOf = (content: string) => `{"choices":[{"index":0,"delta":{"content":"${content}"}}]}`;
const lineOf = (content: string) => `{"message":{"content":"${content}"}}`;
const unreadOf = (content: string) => `{"message":{"content":"${content}"},"l":NaN}`;
/** Ends of lines for readers such as Python's. */
const OTHER_ENDS = ["\v", "\f", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"];
const HIDDEN = String.raw`x\nblue falcon`;
const CHUNK = chunkOf(HIDDEN);
const MESSAGE = lineOf(HIDDEN);

async function answered(policy: Partial<GuardPolicy>, body: string, type: string) {
  const world = worldOf({ output_scanners: ["ban_keywords"], ban_keywords: ["blue falcon"], ...policy });
  world.upstream = async () => new Response(body, { headers: { "content-type": type } });
  const { status, text } = await answerOf(world, { body: chatBody("hi", { stream: type === EVENTS }) });
  const runs = world.events.filter(({ metric }) => metric === "gateway_boon_runs_total");
  return { status, text, outcomes: runs.flatMap(({ labels }) => labels) };
}

describe("a keyword behind an escape, in a line of JSON", () => {
  const first = ["null", "1", '"ping"', "[]", "true", "// c", "event: x", ": x"];
  const before = ["\u001e", "Data: ", " data: ", "data : ", "\uFEFF", "event: ", "x", "1 ", "[] "];
  const all: [string, string, string][] = [
    ...first.map((line): [string, string, string] => [`behind the line ${line}`, `${line}\n${MESSAGE}\n`, LINES]),
    ...before.map((lead): [string, string, string] => [`behind ${lead}`, `${lead}${MESSAGE}\n`, LINES]),
    ["of a document behind two marks of byte order", `\uFEFF\uFEFF{"a":\n${MESSAGE}}`, "application/json"],
    ["behind a text, as a string", `x\n"${HIDDEN}"\n`, LINES],
    ["behind another record", `${lineOf("a")}\n\u001e${MESSAGE}\n`, LINES],
    ...before
      .filter((lead) => lead !== "event: ")
      .map((lead): [string, string, string] => [`behind ${lead} in a stream`, `${lead}${CHUNK}\n\n`, EVENTS]),
    ...["event: x", "data: {}", ": x", "data", "retry: 1", "x"].map((line): [string, string, string] => [
      `of an event behind ${line}`,
      `${line}\n${CHUNK}\n\n`,
      EVENTS,
    ]),
    ["of an event with another line", `${chunkOf("a")}\n${CHUNK}\n\n`, EVENTS],
    ["in data behind a line", `data: ping\ndata: ${CHUNK}\n\n`, EVENTS],
    ["in data behind a separator", `data: \u001e${CHUNK}\n\n`, EVENTS],
    ["in data behind a letter", `data: x${CHUNK}\n\n`, EVENTS],
    ...OTHER_ENDS.flatMap((end): [string, string, string][] => [
      [`of a comment behind ${end}`, `: k${end}data: ${CHUNK}\n\n`, EVENTS],
      [`of a name behind ${end}`, `event: message${end}data: ${CHUNK}\ndata: {}\n\n`, EVENTS],
      [`in data behind ${end}`, `data: 1${end}data: ${CHUNK}\n\n`, EVENTS],
      [`of a line behind ${end}`, `a${end}${MESSAGE}\n`, LINES],
    ]),
  ];

  it.each(all)("is found and replaced: %j", async (_, body, type) => {
    const block = await answered({ ...CLOSED, action: "block" }, body, type);
    const redact = await answered({ ...CLOSED, action: "redact" }, body, type);
    expect({
      block: block.status,
      redact: redact.status,
      isLeft: redact.text.includes("falcon"),
      isReplaced: redact.text.includes("[REDACTED]"),
    }).toEqual({ block: 400, redact: 200, isLeft: false, isReplaced: true });
  });

  it("is found as the name of an event", async () => {
    const body = `event: blue falcon\ndata: {}\n\n`;
    const block = await answered({ ...CLOSED, action: "block" }, body, EVENTS);
    const redact = await answered({ ...CLOSED, action: "redact" }, body, EVENTS);
    expect({ block: block.status, isLeft: redact.text.includes("falcon") }).toEqual({ block: 400, isLeft: false });
  });

  it("keeps what stands around it, stays JSON, and has what was held back in one more line", async () => {
    const { text } = await answered({ action: "redact" }, `null\r\n\u001e${MESSAGE}\r\nbye\r\n`, LINES);
    const streamed = await answered({ action: "redact" }, `event: x\n Data: ${CHUNK}\ndata: {"a":1}\n\n`, EVENTS);
    expect({ text, streamed: streamed.text }).toEqual({
      text: `null\r\n\u001e${lineOf(String.raw`x\n`)}\r\nbye\r\n\u001e${lineOf("[REDACTED]")}\n`,
      streamed: ` Data: ${chunkOf(String.raw`x\n[REDACTED]`)}\n\nevent: x\ndata: {"a":1}\n\n`,
    });
  });
});

describe("a keyword that is split over lines of JSON behind something else", () => {
  it.each([
    ["lines", `null\n${lineOf("a blue")}\n${lineOf(" falcon")}\n`, LINES],
    ["lines behind others", `a\v${lineOf("a blue")}\na\v${lineOf(" falcon")}\n`, LINES],
    ["records", `\u001e${lineOf("a blue")}\n\u001e${lineOf(" falcon")}\n`, LINES],
  ])("is found and replaced: %s", async (_, body, type) => {
    const block = await answered({ ...CLOSED, action: "block" }, body, type);
    const redact = await answered({ ...CLOSED, action: "redact" }, body, type);
    expect({ block: block.status, isLeft: redact.text.includes("falcon") }).toEqual({ block: 400, isLeft: false });
  });

  it("is found in lines of data that are a document together, or behind others", async () => {
    const behind = `data: 1\fdata: ${chunkOf("a blue")}\n\ndata: 1\fdata: ${chunkOf(" falcon")}\n\n`;
    expect(await answered({ ...CLOSED, action: "block" }, behind, EVENTS)).toMatchObject({ status: 400 });
    const body = `data: [\ndata: ${chunkOf("a blue")}\ndata: ]\n\ndata: [1,\ndata: ${chunkOf(" falcon")}\ndata: ]\n\n`;
    expect(await answered({ ...CLOSED, action: "block" }, body, EVENTS)).toMatchObject({ status: 400 });
  });

  it("is found in a held stream without the word data", async () => {
    const body = `${chunkOf("a blue")}\n\n${chunkOf(" falcon")}\n\n`;
    expect(await answered({ ...CLOSED, action: "block" }, body, EVENTS)).toMatchObject({ status: 400 });
  });
});

describe("a keyword that is split over events", () => {
  const [first, second] = [chunkOf("a blue"), chunkOf(" falcon")];
  const delta = (text: string) =>
    `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
  const named = (text: string) => `event: content_block_delta\n${delta(text)}`;
  const between = ["x: ", "", "Data: ", " data: ", ": k\v", `: ${"x".repeat(260)}\u2028`].map(
    (lead): [string, string] => [
      `a line ${JSON.stringify(lead.slice(0, 9))}`,
      `data: ${first}\n\n${lead}${chunkOf("zzz")}\n\ndata: ${second}\n\n`,
    ],
  );
  it.each<[string, string]>([
    ["with an empty line of data", `data: ${first}\ndata:\n\ndata: ${second}\ndata:\n\n`],
    ...between,
    ["a line before", `x: ${chunkOf("q")}\n\ndata: ${chunkOf("blue falcon")}\n\n`],
    ["a wrapped event", `data: ${first}\n\nevent: thread.x\ndata: ${chunkOf("zzz")}\n\ndata: ${second}\n\n`],
    ["an event of another name", `${named("a blue")}event: ping\n${delta("zzz")}${named(" falcon")}`],
    ["an event without its name", `${named("a blue")}${delta("zzz")}${named(" falcon")}`],
    ["events without names", `${delta("a blue")}${delta(" falcon")}`],
    ["wrapped events", `event: thread.x\ndata: ${first}\n\nevent: thread.x\ndata: ${second}\n\n`],
    ["an id", `id: blue falcon\ndata: {}\n\n`],
    ["a name", `event: falcon\ndata: {}\n\n`],
  ])("is found whatever stands between its pieces: %s", async (_, body) => {
    const policy: Partial<GuardPolicy> = { ...CLOSED, action: "block", ban_keywords: ["blue falcon", "falcon"] };
    const honest = `data: ${chunkOf("a red")}\n\n`;
    expect({
      status: (await answered(policy, body, EVENTS)).status,
      isHonestPassed: (await answered(policy, honest, EVENTS)).status,
    }).toEqual({ status: 400, isHonestPassed: 200 });
  });

  it("is found in the lines of one document", async () => {
    const bodies = [`[\n${first}\n,\n${second}\n]\n`, `{"a":\n${first}\n,"b":\n${second}\n}`];
    for (const body of bodies)
      expect(await answered({ ...CLOSED, action: "block" }, body, "application/json")).toMatchObject({ status: 400 });
  });
});

describe("a line that is JSON for others only", () => {
  const all: [string, string, string][] = [
    ["behind a line", `null\n${unreadOf("a")}\n`, LINES],
    ["behind a separator", `\u001e${unreadOf("a")}\n`, LINES],
    ["behind a name", `Data: ${unreadOf("a")}\n`, LINES],
    ["among others", `${lineOf("a")}\n${unreadOf("b")}\n`, LINES],
    ["of an event", `${unreadOf("a blue")}\n${unreadOf(" falcon")}\n\n`, EVENTS],
    ["of an event with data", `data: {}\n${unreadOf("a")}\n\n`, EVENTS],
    ["of an event, behind a name", `Data: ${unreadOf("a")}\n\n`, EVENTS],
    ["of data", `data: \u001e${unreadOf("a")}\n\n`, EVENTS],
  ];

  it.each(all)("passes only if the policy fails open, and counts as failed: %s", async (_, body, type) => {
    const isRefused = ({ status, text }: { status: number; text: string }) =>
      status === 503 || (status === 200 && text.includes("upstream_stream_error") && !text.includes("NaN"));
    for (const action of ["block", "redact"] as const) {
      const open = await answered({ action, fail_open: true }, body, type);
      const closed = await answered({ action, fail_open: false }, body, type);
      expect({
        action,
        isPassed: open.status === 200 && open.text.startsWith(body),
        outcomes: open.outcomes.filter((outcome) => outcome === "failed"),
        isRefused: isRefused(closed),
      }).toEqual({ action, isPassed: true, outcomes: ["failed"], isRefused: true });
    }
  });
});

describe("an honest answer", () => {
  it.each([
    ["text", '[Music]\r\n\r\n1\n00:00 --> 00:01\nsay: [1] C:\\new "x"\n\n[] done', "text/plain"],
    ["lines", `${lineOf("a")}\r\n\n${lineOf("b")}`, LINES],
    ["events", `: ping\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: ${chunkOf("a b ")}\n\ndata: [DONE]\n\n`, EVENTS],
    ["a document in place of events", `{\n  "choices": [{"message": {"content": "a"}}]\n}\n`, EVENTS],
    [
      "comments",
      `: OPENROUTER PROCESSING\n\n: ${"x".repeat(300)}\n\ndata: ${chunkOf("a ")}\n\ndata: [DONE]\n\n`,
      EVENTS,
    ],
    ["a document in lines of data", 'data: {\ndata:   "choices": []\ndata: }\n\ndata: [DONE]\n\n', EVENTS],
    ["a line in a text", `${lineOf("a\u2028b\x85c")}\n`, LINES],
    ["events with ids", `id: 1\ndata: ${chunkOf("a ")}\n\nid: 2\ndata: [DONE]\n\n`, EVENTS],
    ["a list over lines", '[\n  {\n    "text": "a"\n  }\n]\n', "application/json"],
    ["text in data", "data: hello\ndata: you\n\ndata: [DONE]\n\n", EVENTS],
  ])("passes as it came: %s", async (_, body, type) => {
    for (const action of ["block", "redact"] as const) {
      const { status, text } = await answered({ ...CLOSED, action }, body, type);
      expect({ action, status, isAsItCame: text.startsWith(body) }).toEqual({ action, status: 200, isAsItCame: true });
    }
  });
});
