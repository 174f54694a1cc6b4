/**
 * A JSON body on its way upstream. It may be sent any number of times, each time from the client's own bytes: small ones
 * as one buffer, large ones piece by piece, so that a large document is never in memory twice.
 */
import { GatewayError } from "../../shared/errors.ts";
import { concat } from "../domain/json-bytes.ts";
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
  #bytes: Uint8Array<ArrayBuffer> | null;

  constructor(bytes: Uint8Array<ArrayBuffer>, root: JsonObject) {
    this.#bytes = bytes;
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
    const pieces = bytes === null ? null : rewriteBody(bytes, upstreamModel, this.#root, addUsage);
    if (bytes === null || pieces === null) throw new GatewayError("invalid_json");
    if (pieces.length === 1 && bytes.byteLength <= ONE_BUFFER_MAX_BYTES) return bytes;
    const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    return size > ONE_BUFFER_MAX_BYTES ? streamOf(pieces, size) : concat(pieces);
  }

  release(): void {
    this.#bytes = null;
  }
}
