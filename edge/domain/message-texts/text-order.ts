/**
 * Whether all clients read the same texts from the events of a stream (docs/rules/guardrails.md#split-texts). What an event
 * shows whole (an answer, an item, a part) some of them take for the start of the deltas after it; and some count what starts
 * where others read its number. No known server sends such orders: they are noticed, not followed.
 */
import { elementsOf, objectOf, textOf } from "../dialect/values.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { AnswerText } from "./answer-texts.ts";

/** Honest answers have fewer parts. */
const PARTS_MAX = 4_096;
const ID_MAX = 256;
const START =
  /^(?:response\.(?:output_item|content_part|reasoning_summary_part|shell_call_command)\.added|content_block_start)$/;
/** Events with the answer as far as it is, which is empty before its pieces come. */
const NOT_LAST = /^response\.(?:created|queued|in_progress)$/;
/** Events before which there is no text: some clients drop what they have read when one comes. */
const FIRST = /^(?:message_start|response\.created)$/;
/** The members of an item that deltas continue. */
const CONTINUED: ReadonlySet<unknown> = new Set(["content", "summary", "arguments", "input", "code", "output"]);

/** The numbers by which an event names a part of the answer: output, part, command or block. */
export type Ids = readonly (number | null)[];

export class TextOrder {
  /** The numbers of what was shown whole; empty for the answer. */
  readonly #shown = new Set<string>();
  /** How many parts have started, by what they are parts of. */
  readonly #started = new Map<string, number>();
  /** Numbers of outputs and ids of items that belong together, by the type of their pieces. */
  readonly #pairs = new Map<string, string>();
  #hasText = false;
  /** A choice of a chunk has come with a message. */
  #hasMessage = false;
  /** Whether choices come with their numbers. */
  #isNumbered: boolean | null = null;
  readonly #answers: number;

  /** `answers`: how many choices there can be. */
  constructor(answers = Number.POSITIVE_INFINITY) {
    this.#answers = answers;
  }

  /**
   * Takes an event with these numbers and complete texts. False: it shows an answer whose pieces are still to come, or starts one
   * whose text has started before.
   *
   * @param startsText it starts a part with a text that comes in a delta after it
   */
  takes(type: string, ids: Ids, event: JsonObject, wholes: readonly AnswerText[], startsText: boolean): boolean {
    if (this.#hasText && FIRST.test(type)) return false;
    this.#hasText ||= wholes.some(({ alone }) => alone !== true);
    if (this.#isFull) return true;
    const key = keyOf(ids);
    const { content, output } = objectOf(event["message"] ?? event["response"]);
    if (elementsOf(content ?? output).length > 0) this.#shown.add("");
    if (type.endsWith("done") && ids[0] !== null) this.#shown.add(key);
    // of a realtime session, whose deltas name their item
    if (type.startsWith("conversation.item.") && wholes.some(isContinued))
      this.#shown.add(itemKey(objectOf(event["item"])["id"]));
    if (NOT_LAST.test(type)) return wholes.every(({ alone }) => alone);
    if (!START.test(type)) return true;
    this.#shown.delete(key);
    const { commands } = objectOf(objectOf(event["item"])["action"]);
    const hasText = elementsOf(commands).length > 0 || wholes.some(isContinued);
    const at = ids.findLastIndex((id) => id !== null);
    const list = type + keyOf(ids.with(at, null));
    const place = this.#started.get(list) ?? 0;
    this.#started.set(list, place + 1);
    if (place !== ids[at] && (hasText || startsText || type.includes("command"))) this.#shown.add("");
    else if (hasText) this.#shown.add(key);
    return true;
  }

  /**
   * Takes the choices of an event. False: a piece continues a message that was shown whole, or clients that know a choice by its
   * number, its place, or not at all, join different pieces.
   */
  takesChoices(choices: unknown, texts: readonly AnswerText[]): boolean {
    let continues = false;
    for (const { place, alone } of texts) {
      if (place[0] !== "choices" || alone === true) continue;
      this.#hasText = true;
      if (place[2] === "message") this.#hasMessage = true;
      else continues = true;
    }
    if (!continues) return true;
    let isApart = Array.isArray(choices) && !this.#hasMessage;
    for (const [at, choice] of elementsOf(choices).entries()) {
      const { index = null } = objectOf(choice);
      this.#isNumbered ??= index !== null;
      isApart &&= this.#isNumbered === (index !== null) && Number(index ?? at) < this.#answers;
    }
    return isApart;
  }

  /** False: what a piece with these numbers continues was shown whole, or clients that go by the item join other pieces. */
  continues(ids: Ids, type: string | null, item: unknown): boolean {
    this.#hasText = true;
    if (typeof item === "string" && item !== "" && !this.#isPair(`${type} ${ids[0]}`, `${type} ${itemKey(item)}`))
      return false;
    const keys = ["", keyOf(ids.slice(0, 1)), keyOf(ids), itemKey(item)];
    return !this.#isFull && !keys.some((key) => this.#shown.has(key));
  }

  /** False: the item has another number, or comes back after another one had its number. */
  #isPair(output: string, item: string): boolean {
    const pairs = this.#pairs;
    if ((pairs.get(item) ?? output) !== output) return false;
    const before = pairs.get(output) ?? item;
    if (before !== item) pairs.set(before, "");
    pairs.set(output, item).set(item, output);
    return true;
  }

  get #isFull(): boolean {
    return this.#shown.size + this.#started.size + this.#pairs.size > PARTS_MAX;
  }
}

function isContinued({ place: [of, member] }: AnswerText): boolean {
  return of === "part" || of === "command" || (of === "item" && CONTINUED.has(member));
}

function itemKey(id: unknown): string {
  return `item ${textOf(id).slice(0, ID_MAX)}`;
}

function keyOf(ids: Ids): string {
  return ids.join(" ").trimEnd();
}
