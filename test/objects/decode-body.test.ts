/** How the platform's decoders are used: as much as is read is decoded at a time (docs/rules/request-bodies.md#codings). */
import { expect, it } from "vitest";
import { decodeBody } from "../../edge/adapters/decode-body.ts";

const DECODED_BYTES = 4_000_000;
const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** As many times the letter a, in each coding. */
const CODED = {
  br: async () => bytesOf("m/8IPfglwuKxQCAXoAc="),
  zstd: async () => bytesOf(`KLUv/YBYAAk9AFQAABBhYQEA+/85wAICABBhAg${"AQYQIAEGECABBhAg".repeat(9)}AQYQNICGE=`),
  gzip: async () => await packed("gzip"),
  deflate: async () => await packed("deflate"),
} as const;

async function packed(format: "gzip" | "deflate"): Promise<Uint8Array> {
  const plain = new Response("a".repeat(DECODED_BYTES)).body as ReadableStream<Uint8Array>;
  return new Uint8Array(await new Response(plain.pipeThrough(new CompressionStream(format))).arrayBuffer());
}

it.each(["br", "zstd", "gzip", "deflate"] as const)(
  "%s is decoded in pieces, with turns for others",
  async (coding) => {
    let turns = 0;
    let timer = setTimeout(() => tick(), 0);
    const tick = (): void => {
      turns += 1;
      timer = setTimeout(tick, 0);
    };
    const pieces: number[] = [];
    for await (const piece of decodeBody(coding, [await CODED[coding]()])) pieces.push(piece.byteLength);
    clearTimeout(timer);
    expect({ bytes: pieces.reduce((sum, bytes) => sum + bytes, 0), largest: Math.max(...pieces) }).toEqual({
      bytes: DECODED_BYTES,
      largest: 65_536,
    });
    expect(turns).toBeGreaterThanOrEqual(10);
  },
);

it.each(["br", "zstd", "deflate"] as const)("%s is read up to its end, however what follows is cut", async (coding) => {
  const coded = await CODED[coding]();
  const all = new Uint8Array([...coded, ...new TextEncoder().encode("more than it")]);
  for (let at = coded.byteLength - 9; at <= coded.byteLength + 5; at++) {
    let bytes = 0;
    for await (const piece of decodeBody(coding, [all.slice(0, at), all.slice(at)])) bytes += piece.byteLength;
    expect({ at, bytes }).toEqual({ at, bytes: DECODED_BYTES });
  }
});
