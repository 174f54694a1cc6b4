/**
 * Reads what the model streams (chat completions) into its text and its calls. Pure. The stream is hostile: whatever is of
 * another kind is left out, and what is kept is bounded.
 */
import { parseBounded } from "../kernel/json-parts.ts";
import type { ModelCall } from "./model-tools.ts";

/** What the model has said in one turn. */
export interface BrainTurn {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** Of the whole request as the upstream counted them; null: it has not said, or said what cannot be. */
  readonly tokens: number | null;
}

const TEXT_MAX_CHARACTERS = 32 * 1024;
const ARGUMENTS_MAX_CHARACTERS = 128 * 1024;
const CALLS_MAX = 8;
const NAME_MAX_CHARACTERS = 200;
/** Of an event, or of a whole completion: texts and arguments are strings, so an honest one has a few dozen. */
const PARTS_MAX = { parts: 16 * 1024, names: 4096 };
/** More than a model can read is no count of what it has read. */
const TOKENS_MAX = 10_000_000;

interface OpenCall {
  id: string;
  name: string;
  arguments: string[];
  characters: number;
}

export class BrainAnswer {
  readonly #text: string[] = [];
  readonly #calls = new Map<number, OpenCall>();
  #textCharacters = 0;
  #tokens: number | null = null;

  /** Takes the data of one event; returns the text that it adds. A whole completion is taken like an event. */
  take(data: string): string {
    const { usage, choices } = fieldsOf(parsed(data));
    const total = fieldsOf(usage)["total_tokens"];
    if (typeof total === "number" && Number.isSafeInteger(total) && total >= 0 && total <= TOKENS_MAX)
      this.#tokens = total;
    const choice = fieldsOf(Array.isArray(choices) ? choices[0] : null);
    const { content, tool_calls: calls } = fieldsOf(choice["delta"] ?? choice["message"]);
    if (Array.isArray(calls))
      for (const [at, call] of calls.slice(0, CALLS_MAX).entries()) this.#takeCall(at, fieldsOf(call));
    return typeof content === "string" ? this.#takeText(content.toWellFormed()) : "";
  }

  /** All that was said so far. Calls without a name are left out. */
  get turn(): BrainTurn {
    return {
      text: this.#text.join(""),
      calls: [...this.#calls.entries()]
        .sort(([a], [b]) => a - b)
        .map(([at, call]) => ({
          id: call.id === "" ? `call-${at}` : call.id,
          name: call.name,
          arguments: call.arguments.join(""),
        }))
        .filter(({ name }) => name !== ""),
      tokens: this.#tokens,
    };
  }

  #takeText(content: string): string {
    const added = content.slice(0, Math.max(0, TEXT_MAX_CHARACTERS - this.#textCharacters)).toWellFormed();
    this.#textCharacters += added.length;
    if (added !== "") this.#text.push(added);
    return added;
  }

  #takeCall(at: number, given: Readonly<Record<string, unknown>>): void {
    const index = typeof given["index"] === "number" ? given["index"] : at;
    const known = this.#calls.get(index);
    if (!Number.isSafeInteger(index) || (known === undefined && this.#calls.size >= CALLS_MAX)) return;
    const call = known ?? { id: "", name: "", arguments: [], characters: 0 };
    this.#calls.set(index, call);
    const { name, arguments: part } = fieldsOf(given["function"]);
    if (call.id === "") call.id = shortText(given["id"]);
    if (call.name === "") call.name = shortText(name);
    if (typeof part !== "string" || part === "") return;
    call.characters += part.length;
    if (call.characters <= ARGUMENTS_MAX_CHARACTERS) call.arguments.push(part.toWellFormed());
  }
}

function shortText(value: unknown): string {
  return typeof value === "string" && value.length <= NAME_MAX_CHARACTERS ? value.toWellFormed() : "";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function parsed(text: string): unknown {
  try {
    return parseBounded(text, PARTS_MAX);
  } catch {
    return null;
  }
}
