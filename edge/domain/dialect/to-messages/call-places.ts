import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { jsonInSteps, type TakeBytes } from "../../wire/json/write-in-steps.ts";
import { objectOf, textOf } from "../values.ts";
import { callIdOf } from "./answer.ts";

/** A piece of a call of a tool, in a stream of a chat completion. */
interface CallPiece {
  /** Which call it is, counted from 0. */
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** The arguments of a call as JSON: some servers send the object. */
export function* argumentsOf(input: unknown, take?: TakeBytes): Steps<string> {
  return isJsonObject(input) ? yield* jsonInSteps(input, take) : textOf(input);
}

/** A longer id of a call is replaced: all of an answer are kept. */
const ID_MAX_CHARACTERS = 512;

interface Place {
  readonly at: number;
  readonly id: string;
  /** The server's own id. */
  givenId: string;
  /** The arguments received so far may be complete. */
  mayBeOver: boolean;
}

/**
 * Which call of a stream a piece belongs to. A server that gives no index starts a new call with each new id. Some give all
 * calls the same index: there a new id with a name starts a new call, unless the arguments of the last one are incomplete,
 * because other servers give every piece a new id.
 */
export class CallPlaces {
  readonly #places = new Map<number, Place>();
  /** Clients tell calls apart by their ids, which some servers repeat. */
  readonly #ids = new Set<string>();
  #lastIndex = -1;
  #count = 0;

  /** `head`: the first chunk. */
  *pieceOf({ index, id, function: called }: JsonObject, head: JsonObject, take?: TakeBytes): Steps<CallPiece> {
    const { name: ofCall, arguments: written } = objectOf(called);
    const [given, name] = [textOf(id), textOf(ofCall)];
    const givenId = given.length <= ID_MAX_CHARACTERS ? given : "";
    const input = yield* argumentsOf(written, take);
    const isOther = (place: Place | undefined): boolean =>
      place === undefined || (givenId !== "" && place.givenId !== "" && givenId !== place.givenId);
    const last = this.#lastIndex;
    const key = Number.isSafeInteger(index) ? Number(index) : last + (isOther(this.#places.get(last)) ? 1 : 0);
    let place = this.#places.get(key);
    if (place === undefined || (isOther(place) && name !== "" && place.mayBeOver)) {
      const isTaken = givenId === "" || this.#ids.has(givenId);
      const ownId = isTaken ? callIdOf(head, this.#count) : givenId;
      place = { at: this.#count, id: ownId, givenId, mayBeOver: true };
      this.#places.set(key, place);
      this.#ids.add(ownId);
      this.#count += 1;
    }
    place.givenId ||= givenId;
    const text = input.trimEnd();
    if (text !== "") place.mayBeOver = text.endsWith("}");
    this.#lastIndex = key;
    return { at: place.at, id: place.id, name, input };
  }
}
