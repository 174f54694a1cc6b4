/**
 * A JSON body on its way upstream. It may be sent any number of times, each time from the client's own bytes: small ones
 * as one buffer, large ones piece by piece, so that a large document is never in memory twice.
 */
import { concat, type TopLevel } from "../domain/json-bytes.ts";
import type { CutJson } from "../domain/json-cut.ts";
import type { JsonObject } from "../domain/json-document.ts";
import { rewriteBody } from "../domain/upstream-body.ts";
import type { UpstreamBody } from "../ports.ts";
import { streamOf } from "./body-stream.ts";
import type { OutgoingBody } from "./context.ts";

/** A body above this is sent piece by piece. */
const ONE_BUFFER_MAX_BYTES = 256 * 1024;

export class JsonOutgoing implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly #root: JsonObject;
  readonly #top: TopLevel;
  /** What the client sent, and what of it is looked at. */
  #sent: { readonly pieces: readonly Uint8Array<ArrayBuffer>[]; readonly cut: CutJson } | null;

  /** `cut` is of `pieces`; `top`, which holds the members that are rewritten (upstream-body.ts), of `cut`. */
  constructor(pieces: readonly Uint8Array<ArrayBuffer>[], cut: CutJson, top: TopLevel, root: JsonObject) {
    this.#sent = { pieces, cut };
    this.#top = top;
    this.#root = root;
  }

  get resendable(): boolean {
    return this.#sent !== null;
  }

  get clientBytes(): readonly Uint8Array<ArrayBuffer>[] | null {
    return this.#sent?.pieces ?? null;
  }

  open(upstreamModel: string, addUsage: boolean): UpstreamBody {
    if (this.#sent === null) throw new Error("the body has been let go of");
    const { pieces, cut } = this.#sent;
    const rewritten = rewriteBody(cut.bytes, this.#top, upstreamModel, this.#root, addUsage);
    const sent = rewritten.flatMap((piece) => cut.sent(piece));
    const size = sent.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (size > ONE_BUFFER_MAX_BYTES) return streamOf(sent, size);
    const [whole] = pieces;
    return rewritten.length === 1 && pieces.length === 1 && whole !== undefined ? whole : concat(sent);
  }

  release(): void {
    this.#sent = null;
  }
}
