/**
 * A JSON body on its way upstream. It may be sent any number of times, each time from the client's own bytes: small ones
 * as one buffer, large ones piece by piece, so that a large document is never in memory twice.
 */
import { BytePieces } from "../../domain/bytes/byte-pieces.ts";
import { concat, type TopLevel } from "../../domain/json/top-level.ts";
import { rewriteBody } from "../../domain/upstream/request-body.ts";
import type { UpstreamBody } from "../../ports.ts";
import type { OutgoingBody } from "../call/context.ts";
import { streamOf } from "./body-stream.ts";

/** A body above this is sent piece by piece. */
const ONE_BUFFER_MAX_BYTES = 256 * 1024;

export class JsonOutgoing implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly #top: TopLevel;
  #pieces: readonly Uint8Array<ArrayBuffer>[] | null;

  /** `pieces` are what the client sent; `top`, of them, holds the members that are rewritten (request-body.ts). */
  constructor(pieces: readonly Uint8Array<ArrayBuffer>[], top: TopLevel) {
    this.#pieces = pieces;
    this.#top = top;
  }

  get resendable(): boolean {
    return this.#pieces !== null;
  }

  get clientBytes(): readonly Uint8Array<ArrayBuffer>[] | null {
    return this.#pieces;
  }

  open(upstreamModel: string, addUsage: boolean): UpstreamBody {
    const pieces = this.#pieces;
    if (pieces === null) throw new Error("the body has been let go of");
    const sent = rewriteBody(new BytePieces(pieces), this.#top, upstreamModel, addUsage);
    const size = sent.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (size > ONE_BUFFER_MAX_BYTES) return streamOf(sent, size);
    const [whole] = pieces;
    return sent.length === 1 && pieces.length === 1 && whole !== undefined ? whole : concat(sent);
  }

  release(): void {
    this.#pieces = null;
  }
}
