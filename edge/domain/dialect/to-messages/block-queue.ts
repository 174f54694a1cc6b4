/**
 * The blocks of a streamed message. Messages have one block open at a time, while deltas of parallel calls may interleave: the
 * first block is sent as it comes, and pieces of later blocks are kept until their turn. A call is over once its arguments are
 * a whole JSON object, which calls without interleaving always are when the next one starts.
 */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { textOf } from "../values.ts";
import { MESSAGE_CALLS_MAX, NO_OBJECT } from "./answer.ts";
import { ObjectText } from "./object-text.ts";

/** Most blocks that wait, and characters that are kept of them. */
const WAITING_MAX_BLOCKS = 256;
const WAITING_MAX_CHARACTERS = 4 * 1024 * 1024;

const TOO_MUCH = "the answer has more parallel tool calls than can be kept";

type BlockKind = "thinking" | "text" | "tool_use";

interface Block {
  readonly kind: BlockKind;
  /** The index of a call. */
  readonly call: number | null;
  start: JsonObject;
  readonly input: ObjectText;
  readonly kept: string[];
  /** Its index in the message, once it is open. */
  index: number | null;
}

export class BlockQueue {
  readonly #waiting: Block[] = [];
  readonly #calls = new Map<number, Block>();
  #keptCharacters = 0;
  #opened = 0;
  #calledAny = false;
  #fault: string | null = null;

  /** A tool was called. */
  get calledAny(): boolean {
    return this.#calledAny;
  }

  get keptCharacters(): number {
    return this.#keptCharacters;
  }

  /** Why no message can have these blocks: if set, ignore everything returned afterwards. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Adds text or thinking. Returns the events. */
  said(kind: "thinking" | "text", text: string): readonly JsonObject[] {
    if (text === "") return [];
    let block = this.#waiting.at(-1);
    if (block?.kind !== kind) {
      const start = kind === "text" ? { type: kind, text: "" } : { type: kind, thinking: "", signature: "" };
      block = this.#wait(kind, null, start);
    }
    return this.#take(block, text);
  }

  /** Adds to a call: its id and name with its first delta, or pieces of its name. */
  *called(
    call: number,
    { id, name }: { readonly id: string; readonly name: string },
    input: string,
  ): Steps<readonly JsonObject[]> {
    let block = this.#calls.get(call);
    if (block === undefined) {
      block = this.#wait("tool_use", call, { type: "tool_use", id, name, input: {} });
      this.#calls.set(call, block);
      this.#calledAny = true;
      this.#keptCharacters += id.length + name.length;
    } else if (block.index === null && name !== "" && name !== block.start["name"]) {
      block.start = { ...block.start, name: textOf(block.start["name"]) + name };
      this.#keptCharacters += name.length;
    }
    // JSON needs no white space before it, and Anthropic's SDK fails on arguments that are nothing else yet
    const written = block.input.isStarted ? input : input.trimStart();
    yield* block.input.push(written);
    if (block.input.isWrong) this.#fault ??= NO_OBJECT;
    // only white space can follow an object that is whole
    return this.#waiting.includes(block) ? this.#take(block, written) : [];
  }

  /** The events that end all blocks. `isCut`: the model was stopped, so that arguments may be incomplete. */
  finish(isCut: boolean): readonly JsonObject[] {
    const isIncomplete = this.#waiting.some(({ input }) => input.isStarted && !input.isWhole);
    if (isIncomplete && !isCut) this.#fault ??= NO_OBJECT;
    const events = this.#waiting.flatMap((block) => [...this.#open(block), this.#stop(block)]);
    this.#waiting.length = 0;
    return events;
  }

  #wait(kind: BlockKind, call: number | null, start: JsonObject): Block {
    const block: Block = { kind, call, start, input: new ObjectText(), kept: [], index: null };
    this.#waiting.push(block);
    return block;
  }

  #take(block: Block, text: string): readonly JsonObject[] {
    if (text !== "") {
      block.kept.push(text);
      this.#keptCharacters += text.length;
    }
    const events: JsonObject[] = [];
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const isLast = this.#waiting.length === 1;
      // the start has the whole name only when the arguments start
      if (first.kept.length > 0 || !isLast) events.push(...this.#open(first));
      if (isLast || (first.kind === "tool_use" && !first.input.isWhole)) break;
      events.push(this.#stop(first));
      this.#waiting.shift();
    }
    const isTooMany = this.#calls.size > MESSAGE_CALLS_MAX || this.#waiting.length > WAITING_MAX_BLOCKS;
    if (isTooMany || this.#keptCharacters > WAITING_MAX_CHARACTERS) this.#fault ??= TOO_MUCH;
    return events;
  }

  /** Starts a block unless it has started, and sends what is kept of it. */
  #open(block: Block): readonly JsonObject[] {
    const events: JsonObject[] = [];
    if (block.index === null) {
      block.index = this.#opened;
      this.#opened += 1;
      events.push({ type: "content_block_start", index: block.index, content_block: block.start });
      this.#keptCharacters -= textOf(block.start["id"]).length + textOf(block.start["name"]).length;
      block.start = {};
    }
    const text = block.kept.join("");
    if (text !== "") events.push({ type: "content_block_delta", index: block.index, delta: deltaOf(block.kind, text) });
    this.#keptCharacters -= text.length;
    block.kept.length = 0;
    return events;
  }

  #stop({ index }: Block): JsonObject {
    return { type: "content_block_stop", index };
  }
}

function deltaOf(kind: BlockKind, text: string): JsonObject {
  if (kind === "text") return { type: "text_delta", text };
  return kind === "thinking"
    ? { type: "thinking_delta", thinking: text }
    : { type: "input_json_delta", partial_json: text };
}
