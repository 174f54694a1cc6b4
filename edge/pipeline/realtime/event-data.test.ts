/** Events of a stream, read as messages. */
import { expect, it } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { eventData } from "./event-data.ts";

const STREAM = ': comment\r\n\r\nevent: a\rdata: {"é":1}\r\rdata:two\ndata: lines\n\nid: 1\n\ndata: last\r\n\r\n';

async function readIn(size: number): Promise<readonly string[]> {
  const bytes = new TextEncoder().encode(STREAM);
  const pieces = Array.from({ length: Math.ceil(bytes.byteLength / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return await listed(eventData(piecesOf(pieces)));
}

async function listed(events: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function* piecesOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

it.each([1, 2, 3, 7, 1_000])("have their data however their bytes are split: %i", async (size) => {
  expect(await readIn(size)).toEqual(['{"é":1}', "two\nlines", "last"]);
});

it("that do not end are an error", async () => {
  const endless = piecesOf([new Uint8Array(2 * LIMITS.realtimeMessage + 1).fill(97)]);
  await expect(listed(eventData(endless))).rejects.toThrow("never ends");
});
