/**
 * Collects the deltas of one streamed answer into a finished turn (docs/rules/tool-loop.md#streaming). Calls of the client's
 * tools are passed on as they come; those of the gateway's are kept. The kept size is bounded: a larger answer still reaches
 * the client, but the loop ends with it.
 */
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";
import { type FinishedTurn, REASONING_NAMES } from "./turn.ts";

/** Most tool calls of one answer. */
const STREAMED_CALLS_MAX = 256;

/** The gateway's own tools have shorter names. */
const NAME_MAX_CHARACTERS = 256;
/** A call has a handful of members; each delta that brings one copies them. */
const MEMBERS_MAX = 64;
/** Work for a delta of a call, in units. */
const CALL_UNITS = 64;

/** Texts of a message that are written in pieces. */
const TEXTS = ["content", ...REASONING_NAMES] as const;

interface GrowingCall {
  /** Members that do not grow. */
  rest: JsonObject;
  ofFunction: JsonObject;
  name: string;
  readonly written: string[];
  /** Its index among the calls that the client gets; null: it is not known yet whether it is the client's; -1: it is not. */
  clientIndex: number | null;
}

export class StreamedTurn {
  readonly #maxCharacters: number;
  readonly #owned: { has(name: string): boolean };
  readonly #texts = new Map<string, string[]>();
  readonly #calls = new Map<number, GrowingCall>();
  /** The largest index of a call; -1 if there is none. */
  #lastIndex = -1;
  #clientCalls = 0;
  #characters = 0;
  #whole = true;
  #finishReason: unknown = null;
  #usage: JsonObject | null = null;

  /** `owned`: the names of the gateway's tools. `maxCharacters`: the most that is kept. */
  constructor(owned: { has(name: string): boolean }, maxCharacters: number) {
    this.#owned = owned;
    this.#maxCharacters = maxCharacters;
  }

  /** False once more has come than is kept. */
  get isWhole(): boolean {
    return this.#whole;
  }

  /** Characters that are kept. */
  get characters(): number {
    return this.#characters;
  }

  /** The last report of usage; null: there was none. */
  get usage(): JsonObject | null {
    return this.#usage;
  }

  /** Takes the delta of the first choice. Returns the deltas of tool calls to pass on to the client now. */
  *delta(delta: JsonObject): Steps<readonly JsonObject[]> {
    for (const name of TEXTS) {
      const text = delta[name];
      if (typeof text === "string" && text !== "" && this.#keep(text.length)) {
        const parts = this.#texts.get(name);
        if (parts === undefined) this.#texts.set(name, [text]);
        else parts.push(text);
      }
    }
    const calls = delta["tool_calls"];
    if (!Array.isArray(calls)) return [];
    const passed: JsonObject[] = [];
    for (const call of calls as readonly unknown[]) {
      yield CALL_UNITS;
      if (isJsonObject(call)) passed.push(...(yield* this.#call(call)));
    }
    return passed;
  }

  finished(reason: unknown): void {
    this.#finishReason = reason;
  }

  reported(usage: JsonObject): void {
    this.#usage = usage;
  }

  /** The deltas of the client's calls that were kept until the end, because their arguments never started. */
  rest(): readonly JsonObject[] {
    return [...this.#calls.values()].flatMap((call) => (call.clientIndex === null ? this.#decide(call) : []));
  }

  /** The parts received so far. Arguments of the client's calls are not kept. */
  turn(): FinishedTurn {
    const texts = [...this.#texts].map(([name, parts]) => [name, parts.join("")]);
    const inOrder = [...this.#calls].toSorted(([a], [b]) => a - b);
    return {
      message: Object.fromEntries(texts) as JsonObject,
      toolCalls: inOrder.map(([, call]) => wholeCall(call)),
      finishReason: this.#finishReason,
    };
  }

  *#call(delta: JsonObject): Steps<readonly JsonObject[]> {
    const at = this.#indexOf(delta);
    const known = this.#calls.get(at);
    if (known === undefined && this.#calls.size >= STREAMED_CALLS_MAX) {
      this.#whole = false;
      return [];
    }
    const call = known ?? { rest: {}, ofFunction: {}, name: "", written: [], clientIndex: null };
    this.#calls.set(at, call);
    this.#lastIndex = Math.max(this.#lastIndex, at);
    if (call.clientIndex !== null && call.clientIndex >= 0) return [{ ...delta, index: call.clientIndex }];
    return yield* this.#grow(call, delta);
  }

  /** An upstream that gives no index starts a new call with each new id. */
  #indexOf({ index, id }: JsonObject): number {
    if (typeof index === "number" && index >= 0) return index;
    const last = this.#lastIndex;
    const begins = typeof id === "string" && id !== "" && id !== this.#calls.get(last)?.rest["id"];
    return begins ? last + 1 : Math.max(last, 0);
  }

  *#grow(call: GrowingCall, delta: JsonObject): Steps<readonly JsonObject[]> {
    const { index: _, function: called, ...rest } = delta;
    const { name, arguments: written, ...others } = isJsonObject(called) ? called : {};
    const text = isJsonObject(written) ? yield* jsonInSteps(written) : typeof written === "string" ? written : "";
    const more = { ...given(rest), ...given(others) };
    const characters = Object.keys(more).length === 0 ? 0 : (yield* jsonInSteps(more)).length;
    // A name may come in pieces; some upstreams repeat it with every piece of the arguments.
    const nameMore = typeof name === "string" && name !== call.name ? name : "";
    const grown = { rest: { ...call.rest, ...given(rest) }, ofFunction: { ...call.ofFunction, ...given(others) } };
    const members = Math.max(Object.keys(grown.rest).length, Object.keys(grown.ofFunction).length);
    if (members > MEMBERS_MAX) this.#whole = false;
    if (!this.#whole || !this.#keep(characters + text.length + nameMore.length))
      return this.#beyond(call, delta, nameMore);
    call.rest = grown.rest;
    call.ofFunction = grown.ofFunction;
    call.name += nameMore;
    if (text !== "") call.written.push(text);
    const isFunction = (call.rest["type"] ?? "function") === "function" && (called !== undefined || known(rest));
    return call.clientIndex === null && (text !== "" || !isFunction) ? this.#decide(call) : [];
  }

  /** A delta that is not kept any more: the loop ends with this answer, and only the client's calls still count. */
  #beyond(call: GrowingCall, delta: JsonObject, nameMore: string): readonly JsonObject[] {
    if (call.clientIndex !== null) return [];
    const before = Object.keys(call.rest).length === 0 && call.name === "" ? [] : [wholeCall(call)];
    call.name += nameMore.slice(0, NAME_MAX_CHARACTERS);
    if (this.#decide(call).length === 0) return [];
    return [...before, delta].map((part) => ({ ...part, index: call.clientIndex }));
  }

  /** Decides by its name who owns the call. Returns its received parts if it is the client's. */
  #decide(call: GrowingCall): readonly JsonObject[] {
    if (this.#owned.has(call.name) && (call.rest["type"] ?? "function") === "function") {
      call.clientIndex = -1;
      return [];
    }
    call.clientIndex = this.#clientCalls;
    this.#clientCalls += 1;
    const whole = wholeCall(call);
    call.written.length = 0;
    return [{ index: call.clientIndex, ...whole }];
  }

  #keep(characters: number): boolean {
    if (!this.#whole) return false;
    this.#characters += characters;
    this.#whole = this.#characters <= this.#maxCharacters;
    return this.#whole;
  }
}

function wholeCall({ rest, ofFunction, name, written }: GrowingCall): JsonObject {
  if (name === "" && written.length === 0) return rest;
  return { ...rest, function: { ...ofFunction, name, arguments: written.join("") } };
}

/** Whether a delta without a function is only the start of a call. */
function known(rest: JsonObject): boolean {
  return Object.keys(rest).every((name) => name === "id" || name === "type");
}

/** The members that have a value. */
function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ""));
}
