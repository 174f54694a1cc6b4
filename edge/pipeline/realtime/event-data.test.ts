/** Events of a stream, read as messages. */
import { expect, it, vi } from "vitest";
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

it("that do not end are counted, until one does", async () => {
  const encoder = new TextEncoder();
  const pieces = ["data: é", "b", "c\n\nda", "ta: d", "\n\n", "data"].map((text) => encoder.encode(text));
  const counted: number[] = [];
  const datas = await listed(eventData(piecesOf(pieces), (bytes) => void counted.push(bytes)));
  expect({ datas, counted }).toEqual({ datas: ["ébc", "d"], counted: [8, 9, 14, 7, 9, 4] });
});

it("that are cut off are left out, and the error after them is read", async () => {
  const text = 'data: whole\n\ndata: {"half\n: cut off\n\nevent: error\ndata: broken\n\n: cut off\n\n';
  expect(await listed(eventData(piecesOf([new TextEncoder().encode(text)])))).toEqual(["whole", "broken"]);
});

it("that are long are looked through piece by piece", async () => {
  const pieces = Array.from({ length: 64 }, () => new Uint8Array(16 * 1024).fill(0x61));
  const [begin, end] = ["data: ", "\n\n"].map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
  const looks = [vi.spyOn(String.prototype, "split"), vi.spyOn(String.prototype, "endsWith")];
  const [data = ""] = await listed(eventData(piecesOf([begin, ...pieces, end])));
  const looked = looks.flatMap(({ mock }) => mock.contexts.map(String)).map(({ length }) => length);
  for (const look of looks) look.mockRestore();
  expect({ length: data.length, looked: Math.max(...looked) }).toEqual({ length: 1024 * 1024, looked: 16 * 1024 });
});

it("of too many lines are an error", async () => {
  const lines = new TextEncoder().encode("data:\n".repeat(10_000));
  await expect(listed(eventData(piecesOf(Array.from({ length: 7 }, () => lines))))).rejects.toMatchObject({
    code: "upstream_failed",
  });
});
