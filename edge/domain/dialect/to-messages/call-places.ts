import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { type TakeBytes, writtenInSteps } from "../../wire/json/write-in-steps.ts";
import { objectOf, textOf } from "../values.ts";
import { callIdOf } from "./answer.ts";

/** A piece of a call of a tool, in a stream of a chat completion. */
interface CallPiece {
  /** The index of the call. */
  readonly at: number;
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** The arguments of a call as JSON: some servers send the object. */
export function* argumentsOf(input: unknown, take?: TakeBytes): Steps<string> {
  return isJsonObject(input) ? new TextDecoder().decode(yield* writtenInSteps(input, take)) : textOf(input);
}

/** Which call of a stream a piece belongs to. A server that gives no index starts a new call with each new id. */
export class CallPlaces {
  #last = { index: -1, id: "" };

  /** `head`: the first chunk. */
  *pieceOf({ index, id, function: called }: JsonObject, head: JsonObject, take?: TakeBytes): Steps<CallPiece> {
    const { name, arguments: input } = objectOf(called);
    const isNew = textOf(id) !== "" && id !== this.#last.id;
    const at = Number.isSafeInteger(index) ? Number(index) : this.#last.index + (isNew || this.#last.index < 0 ? 1 : 0);
    this.#last = { index: at, id: textOf(id) || this.#last.id };
    return {
      at,
      id: textOf(id) || callIdOf(head, at),
      name: textOf(name),
      input: yield* argumentsOf(input, take),
    };
  }
}
