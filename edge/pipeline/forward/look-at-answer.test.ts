import { describe, expect, it } from "vitest";
import { bodyOf } from "../../../test/harness/edge/pipeline/upstreams.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";
import { lookAtAnswer, smallAnswerBytes } from "./look-at-answer.ts";

const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));

/** An answer that gives these pieces, and then ends or breaks off. */
function answer(headers: Record<string, string>, pieces: readonly string[], breaks = false): Response {
  const left = [...pieces];
  const body = bodyOf(() => {
    const next = left.shift();
    if (next === undefined && breaks) throw new Error("cut");
    return next === undefined ? null : bytes(next);
  });
  return new Response(body, { headers });
}

const json = { "content-type": "application/json; charset=utf-8" };
const small = (text: string) => ({ ...json, "content-length": String(text.length) });
const events = { "content-type": "text/event-stream" };

async function restOf({ body }: Response): Promise<string> {
  let text = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
  return text;
}

/** The read part of an answer, and the rest. */
async function looked(response: Response, memoryBytes = 1_000_000) {
  const begun = await lookAtAnswer(response, new MemoryBudget(memoryBytes));
  const head = new TextDecoder().decode(begun.head);
  return { status: begun.response.status, head, rest: await restOf(begun.response) };
}

describe("a small answer", () => {
  it.each([
    [{ "content-length": "1" }, 1],
    [{ "content-length": "65536" }, 65_536],
    [{ "content-length": "65537" }, null],
    [{ "content-length": "0" }, null],
    [{ "content-length": "ten" }, null],
    [{}, null],
    [{ "content-length": "10", "content-encoding": "gzip" }, null],
    [{ "content-length": "10", "content-type": "text/event-stream" }, null],
  ])("is recognised by its headers: %j is %j", (headers, size) => {
    expect(smallAnswerBytes(new Headers(headers as Record<string, string>))).toBe(size);
  });

  it("is read whole when all of it is there", async () => {
    const found = await looked(answer({ "content-length": "5" }, ["hello"]));
    expect(found).toEqual({ status: 200, head: "hello", rest: "" });
  });

  it("is not held back until all of it is there", async () => {
    const found = await looked(answer({ "content-length": "5" }, ["h", "e", "llo"]));
    expect(found).toEqual({ status: 200, head: "h", rest: "ello" });
  });

  it("that breaks off later is given on as far as it came", async () => {
    const begun = await lookAtAnswer(answer({ "content-length": "5" }, ["he"], true), new MemoryBudget(10));
    expect(begun.head).toEqual(bytes("he"));
    await expect(restOf(begun.response)).rejects.toThrow("cut");
  });
});

describe("an error in a 2xx", () => {
  const error = '{"error":{"message":"overloaded","code":503}}';
  it.each([
    ["a small document", answer(small(error), [error])],
    ["a document in pieces", answer(json, ['{"err', 'or":{"message":"overl', 'oaded","code":503}}'])],
    ["a first event", answer(events, [`data: ${error.slice(0, 9)}`, `${error.slice(9)}\n\ndata: [DONE]\n\n`])],
  ])("is the answer of the status that it names: %s", async (_, response) => {
    const begun = await lookAtAnswer(response, new MemoryBudget(1_000));
    const { status, headers } = begun.response;
    expect({ status, type: headers.get("content-type"), length: headers.get("content-length") }).toEqual({
      status: 503,
      type: "application/json",
      length: null,
    });
    expect({ head: JSON.parse(new TextDecoder().decode(begun.head)), rest: await begun.response.text() }).toEqual({
      head: JSON.parse(error),
      rest: "",
    });
  });
});

describe("any other answer", () => {
  it.each<[string, Record<string, string>, readonly string[], string]>([
    ["a stream after its first event", events, ["data: {}\n", "\ndata: {}", "\n\n"], "data: {}\n\ndata: {}"],
    ["a document after its first name", json, ['{"id":', '"a"}'], '{"id":'],
    ["blanks that keep a connection alive", json, [" ", "{}"], " "],
    ["what is neither", { "content-type": "audio/mpeg" }, ["{", '"error":1}'], "{"],
  ])("continues: %s", async (_, headers, pieces, head) => {
    const found = await looked(answer(headers, pieces));
    expect(found).toEqual({ status: 200, head, rest: pieces.join("").slice(head.length) });
  });

  it("is held back up to 64 KiB", async () => {
    const { head } = await looked(
      answer(
        events,
        Array.from({ length: 100 }, () => "x".repeat(1024)),
      ),
    );
    expect(head.length).toBe(65_536);
  });

  it("that breaks off before its first byte does not count", async () => {
    await expect(lookAtAnswer(answer(json, [], true), new MemoryBudget(10))).rejects.toThrow("cut");
  });

  it("that ends without a byte is a failure for JSON and events, and empty otherwise", async () => {
    for (const headers of [json, events])
      await expect(lookAtAnswer(answer(headers, []), new MemoryBudget(10))).rejects.toThrow("before its first byte");
    expect(await looked(answer({}, []))).toEqual({ status: 200, head: "", rest: "" });
  });
});
