import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
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

/** Which call of a stream a piece belongs to. A server that gives no index starts a new call with each new id. */
export class CallPlaces {
  #last = { index: -1, id: "" };

  /** `head`: the first chunk. */
  pieceOf({ index, id, function: called }: JsonObject, head: JsonObject): CallPiece {
    const { name, arguments: input } = objectOf(called);
    const isNew = textOf(id) !== "" && id !== this.#last.id;
    const at = typeof index === "number" ? index : this.#last.index + (isNew || this.#last.index < 0 ? 1 : 0);
    this.#last = { index: at, id: textOf(id) || this.#last.id };
    return {
      at,
      id: textOf(id) || callIdOf(head, at),
      name: textOf(name),
      input: isJsonObject(input) ? JSON.stringify(input) : textOf(input),
    };
  }
}
