/**
 * A request of the WebSocket mode of Responses as it waits and runs: in bytes, because the values of a message may take many times
 * its memory.
 */
import type { AskedResponse } from "../../domain/realtime/asked-response.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";

const encoder = new TextEncoder();
const [COMMA, BEGIN, END, BRACE] = [",", "[", "]", "}"].map((text) => encoder.encode(text)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const INPUT = encoder.encode(',"input":');
/** An input that is a text is this item. */
const TEXT_BEGIN = encoder.encode('{"type":"message","role":"user","content":');

/** Items of a conversation: pieces of their JSON, without the brackets of a list. */
export type ItemPieces = readonly Uint8Array[];

/** The JSON of a value. */
type Write = (value: unknown) => Promise<Uint8Array>;

/** The JSON of its input, and of its body without the input: each except the first starts with a comma, and no brace follows. */
interface Parts {
  readonly others: Uint8Array;
  readonly previous: Uint8Array;
  readonly input: Uint8Array | null;
}

const NOTHING: Parts = { others: new Uint8Array(), previous: new Uint8Array(), input: null };

export class WrittenRequest {
  readonly lane: string | null;
  readonly isWarmUp: boolean;
  /** An upstream may store its response. */
  readonly isStored: boolean;
  /** The values that a warm-up repeats. */
  readonly model: unknown;
  /** The response that it continues. */
  readonly previous: string | null;
  readonly byteLength: number;
  readonly #isText: boolean;
  #parts: Parts;

  private constructor({ lane, isWarmUp, body }: AskedResponse, previous: string | null, parts: Parts) {
    this.lane = lane;
    this.isWarmUp = isWarmUp;
    this.isStored = body["store"] !== false;
    this.model = isWarmUp ? (body["model"] ?? null) : null;
    this.previous = previous;
    this.byteLength = parts.others.byteLength + parts.previous.byteLength + (parts.input?.byteLength ?? 0);
    this.#isText = typeof body["input"] === "string";
    this.#parts = parts;
  }

  static async of(asked: AskedResponse, write: Write): Promise<WrittenRequest> {
    const { input, previous_response_id: given, ...rest } = asked.body;
    const previous = typeof given === "string" ? given : null;
    const others = await write(previous === null ? { ...rest, previous_response_id: given } : rest);
    const named = previous === null ? null : await write({ previous_response_id: previous });
    return new WrittenRequest(asked, previous, {
      others: others.subarray(0, -1),
      previous: named === null ? NOTHING.previous : concat([COMMA, named.subarray(1, -1)]),
      input: input === undefined ? null : await write(input),
    });
  }

  /**
   * Its body, after these items of the response that it continues, and the items of its conversation, which are inside the
   * body. It can be taken once: then the request holds nothing of it.
   */
  take(kept: Uint8Array | null): { readonly body: Uint8Array<ArrayBuffer>; readonly items: ItemPieces } {
    const { others, previous, input } = this.#parts;
    this.#parts = NOTHING;
    if (kept === null) {
      if (input === null) return { body: concat([others, previous, BRACE]), items: [] };
      const body = concat([others, previous, INPUT, input, BRACE]);
      return { body, items: this.#items(body.subarray(-1 - input.byteLength, -1)) };
    }
    const items = joinedItems([kept], input === null ? [] : this.#items(input));
    const body = concat([others, INPUT, BEGIN, ...items, END, BRACE]);
    return { body, items: [body.subarray(others.byteLength + INPUT.byteLength + BEGIN.byteLength, -2)] };
  }

  #items(input: Uint8Array): ItemPieces {
    return this.#isText ? [TEXT_BEGIN, input, BRACE] : [input.subarray(1, -1)];
  }
}

/** The items of both. */
export function joinedItems(before: ItemPieces, after: ItemPieces): ItemPieces {
  const isEmpty = (pieces: ItemPieces): boolean => pieces.every(({ byteLength }) => byteLength === 0);
  return isEmpty(before) || isEmpty(after) ? [...before, ...after] : [...before, COMMA, ...after];
}
