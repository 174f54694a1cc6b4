/** Forms in pieces of any size give the same parts. */
import { describe, expect, it } from "vitest";
import { formParts } from "./multipart.ts";

const TYPE = "multipart/form-data; boundary=b0";

async function partsOf(form: string, pieceBytes: number, type = TYPE) {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const bytes = Buffer.from(form);
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const parts: { name: string; filename: string | null; text: string }[] = [];
  for await (const { name, filename, body } of formParts(type, pieces())) {
    const read = await Array.fromAsync(body);
    parts.push({ name, filename, text: Buffer.concat(read).toString("utf8") });
  }
  return parts;
}

const FIELD = 'Content-Disposition: form-data; name="purpose"\r\n\r\nbatch';
const FILE =
  'Content-Type: application/jsonl\r\nContent-Disposition: form-data; name="file"; filename="a \\"b\\".jsonl"\r\n\r\nlí\r\n--b\r\nne';

describe("a multipart form", () => {
  it.each([1, 2, 3, 7, 1000])("is read in pieces of %i bytes", async (pieceBytes) => {
    const form = `--b0\r\n${FIELD}\r\n--b0\r\n${FILE}\r\n--b0--\r\n`;
    expect(await partsOf(form, pieceBytes)).toEqual([
      { name: "purpose", filename: null, text: "batch" },
      { name: "file", filename: 'a "b".jsonl', text: "lí\r\n--b\r\nne" },
    ]);
  });

  it("is refused when it is cut off, has no boundary or a head without an end", async () => {
    const refused = { code: "invalid_multipart" };
    await expect(partsOf(`--b0\r\n${FIELD}`, 5)).rejects.toMatchObject(refused);
    await expect(partsOf(`--b0\r\n${FIELD}\r\n--b0--`, 5, "multipart/form-data")).rejects.toMatchObject(refused);
    await expect(partsOf(`--b0\r\n${"x".repeat(40_000)}`, 1000)).rejects.toMatchObject(refused);
  });
});
