/**
 * A JSON body on its way upstream. It may be sent any number of times, each time from the client's own bytes: small ones
 * as one buffer, large ones piece by piece, so that a large document is never in memory twice.
 */
import { concat, type TopLevel } from "../domain/json-bytes.ts";
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
  #bytes: Uint8Array<ArrayBuffer> | null;

  /** `top` holds the members that are rewritten (upstream-body.ts). */
  constructor(bytes: Uint8Array<ArrayBuffer>, top: TopLevel, root: JsonObject) {
    this.#bytes = bytes;
    this.#top = top;
    this.#root = root;
  }

  get resendable(): boolean {
    return this.#bytes !== null;
  }

  get clientBytes(): Uint8Array | null {
    return this.#bytes;
  }

  open(upstreamModel: string, addUsage: boolean): UpstreamBody {
    const bytes = this.#bytes;
    if (bytes === null) throw new Error("the body has been let go of");
    const pieces = rewriteBody(bytes, this.#top, upstreamModel, this.#root, addUsage);
    if (pieces.length === 1 && bytes.byteLength <= ONE_BUFFER_MAX_BYTES) return bytes;
    const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    return size > ONE_BUFFER_MAX_BYTES ? streamOf(pieces, size) : concat(pieces);
  }

  release(): void {
    this.#bytes = null;
  }
}
