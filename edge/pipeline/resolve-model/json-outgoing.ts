/**
 * A JSON body on its way upstream. It may be sent any number of times, each time from the client's own bytes: small
 * bodies as one buffer, large ones piece by piece, so that a large document is never in memory twice.
 */

import type { Steps } from "../../../shared/steps.ts";
import { scanTopLevel, type TopLevel } from "../../../shared/wire/json-top-level.ts";
import { rewriteBody } from "../../domain/upstream/request-body.ts";
import type { MemberEdits } from "../../domain/upstream/transform.ts";
import { BytePieces, concat, type Edit, offsetsAfter, spliceInSteps } from "../../domain/wire/bytes/byte-pieces.ts";
import { sentPlaces } from "../../domain/wire/json/cut-strings.ts";
import { type JsonObject, wholeDocument } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { type TakeBytes, writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import type { UpstreamBody } from "../../ports.ts";
import { streamOf } from "../call/body-stream.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { NO_EDITS, type ParsedCall } from "../call/known.ts";

/** A body above this is sent piece by piece. */
const ONE_BUFFER_MAX_BYTES = 256 * 1024;
/** A body with many changes is kept in pieces of at least so many bytes. */
const PIECE_BYTES = 64 * 1024;

const decoder = new TextDecoder();

export class JsonOutgoing implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly #top: TopLevel;
  #pieces: readonly Uint8Array<ArrayBuffer>[] | null;

  /** `pieces` are the client's bytes; `top` describes the members in them that are replaced (request-body.ts). */
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

  /** The same body with other texts at some places within values of members; it shares the client's bytes. */
  *edited(edits: readonly Edit[]): Steps<JsonOutgoing> {
    const pieces = this.#pieces;
    if (pieces === null) throw new Error("the body has been released");
    const top = sentPlaces({ placeOf: offsetsAfter(edits) }, this.#top);
    return new JsonOutgoing(yield* spliceInSteps(new BytePieces(pieces), edits, PIECE_BYTES), top);
  }

  *member(name: string): Steps<unknown> {
    const pieces = this.#pieces;
    if (pieces === null) throw new Error("the body has been released");
    // of several the last one counts, as for JSON.parse; a parsed document may contain cut strings
    const place = this.#top.members.findLast((member) => member.name === name)?.value;
    return place && (yield* parsedInSteps(decoder.decode(new BytePieces(pieces).slice(place.start, place.end))));
  }

  open(upstreamModel: string, edits: MemberEdits): UpstreamBody {
    const pieces = this.#pieces;
    if (pieces === null) throw new Error("the body has been released");
    const sent = rewriteBody(new BytePieces(pieces), this.#top, upstreamModel, edits);
    const size = sent.reduce((sum, piece) => sum + piece.byteLength, 0);
    if (size > ONE_BUFFER_MAX_BYTES) return streamOf(sent, size);
    const [whole] = pieces;
    return sent.length === 1 && pieces.length === 1 && whole !== undefined ? whole : concat(sent);
  }

  release(): void {
    this.#pieces = null;
  }
}

/** A call whose body the gateway writes itself; `isEdited`: whether a member may get a new value before it is sent. */
export function* writtenCall(
  body: JsonObject,
  modelName: string,
  isEdited: (name: string) => boolean,
  take?: TakeBytes,
): Steps<ParsedCall> {
  const bytes = yield* writtenInSteps(body, take);
  const top = yield* scanTopLevel(bytes, (name) => name === "model" || isEdited(name));
  if (top === null) throw new Error("a body that was just written is an object");
  const stream = body["stream"] === true;
  const outgoing = new JsonOutgoing([bytes], top);
  return { document: wholeDocument(body), modelName, stream, outgoing, edits: NO_EDITS };
}
