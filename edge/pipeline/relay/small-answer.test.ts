import { describe, expect, it } from "vitest";
import { bodyOf } from "../../../test/harness/edge/pipeline/upstreams.ts";
import type { BodyReader } from "./body-reader.ts";
import { readSmallAnswer, smallAnswerBytes } from "./small-answer.ts";

const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));

/** A body that gives these pieces, and then ends or breaks off. */
function body(pieces: readonly string[], breaks = false): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return bodyOf(() => {
    const next = left.shift();
    if (next === undefined && breaks) throw new Error("cut");
    return next === undefined ? null : bytes(next);
  });
}

async function rest(reader: BodyReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let next = await reader.next(); next !== null; next = await reader.next()) text += decoder.decode(next);
  return text;
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
  ])("is recognised by its headers: %j is %j", (headers, size) => {
    expect(smallAnswerBytes(new Headers(headers as Record<string, string>))).toBe(size);
  });

  it("is read whole when all of it is there", async () => {
    expect(await readSmallAnswer(body(["hello"]), 5)).toEqual(bytes("hello"));
  });

  it.each([[["he", "llo"]], [["h", "e", "llo"]]])(
    "that comes as %j is given to the pump without any loss",
    async (pieces) => {
      const taken = await readSmallAnswer(body(pieces), 5);
      expect(taken).not.toBeInstanceOf(Uint8Array);
      expect(await rest(taken as BodyReader)).toBe("hello");
    },
  );

  it("that breaks off is given to the pump as far as it came, and breaks off there", async () => {
    const taken = (await readSmallAnswer(body(["he"], true), 5)) as BodyReader;
    expect(await taken.next()).toEqual(bytes("he"));
    await expect(taken.next()).rejects.toThrow("cut");
  });

  it("that breaks off at once breaks off for the pump", async () => {
    const taken = (await readSmallAnswer(body([], true), 5)) as BodyReader;
    await expect(taken.next()).rejects.toThrow("cut");
  });
});
