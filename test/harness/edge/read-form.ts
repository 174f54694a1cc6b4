/** A form as a test reads it: whole, or cut anywhere. */

import { boundaryOf } from "../../../edge/domain/request/form/form-head.ts";
import { FormScan } from "../../../edge/domain/request/form/form-scan.ts";
import { concat } from "../../../edge/domain/wire/bytes/byte-pieces.ts";

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The parts of a whole form by name, or "refused". `cuts` are where its chunks end, modulo its size. */
export function readForm(contentType: string, body: Uint8Array, cuts: readonly number[] = []): unknown {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return "refused";
  const scanner = new FormScan(boundary);
  const places = [...new Set([0, ...cuts.map((cut) => cut % (body.byteLength + 1)), body.byteLength])].sort(
    (a, b) => a - b,
  );
  const contents: [name: string, content: string][] = [];
  let open: Uint8Array[] = [];
  for (const [at, start] of places.entries()) {
    const pieces = scanner.push(body.slice(start, places[at + 1] ?? body.byteLength));
    if (pieces === null) return "refused";
    for (const piece of pieces) {
      if (piece.kind === "data") open.push(piece.bytes);
      if (piece.kind !== "end") continue;
      contents.push([piece.part.name, new TextDecoder().decode(concat(open))]);
      open = [];
    }
  }
  return scanner.complete ? contents : "refused";
}
