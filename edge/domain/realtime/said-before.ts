/**
 * The earlier text of the client's items that the next item may continue (docs/rules/realtime.md#guardrails): the ends of their
 * texts, in each order in which a model may read them.
 */
import { NewestById } from "../cell/recent-ids.ts";
import { numberOf } from "./event-ids.ts";

/** Characters of earlier text in which a match can start. */
const SAID_MAX = 1_024;
/** The word before them is kept up to this length: a part of it could be taken for something else. */
const WORD_MAX = 64;
/** Texts whose ends are known: a word can be split at each. */
const TEXTS_KEPT = 64;
/** Events with items whose refusal may still come: more than a client can send within some seconds. */
const EVENTS_KEPT = 1_024;
/** Parts of items whose transcripts are remembered. */
const SPOKEN_KEPT = 1_024;

/** Separates texts that do not continue one another. */
const BORDER = '"';

type Texts = readonly string[];

/** The texts of an item, as its upstream gets it. */
export interface ItemTexts {
  readonly contents: Texts;
  /** The contents belong to a system message, which many servers put before all others. */
  readonly isSystem: boolean;
  /** Names and thoughts, which continue no contents. */
  readonly beside: Texts;
}

/** Texts before an item, and as whose they are read. */
export interface Earlier {
  readonly from: "thought" | "system" | "user";
  readonly texts: Texts;
}

interface Said {
  /** The end of all contents, in their order. */
  readonly all: Texts;
  /** The ends of system messages, and of the others. */
  readonly system: Texts;
  readonly others: Texts;
  /** How the others start: where system messages are put first, they continue the last of these. */
  readonly othersBegin: Texts;
  readonly beside: Texts;
}

export class SaidBefore {
  #said: Said = { all: [], system: [], others: [], othersBegin: [], beside: [] };
  /** The event with the last item, and the text before it. */
  #last: { readonly eventId: string; readonly before: Said } | null = null;
  /** Events with items. */
  readonly #events = new NewestById<true>(EVENTS_KEPT);
  /** The number of the last one that is forgotten. */
  #forgotten = 0;
  readonly #spoken = new NewestById<true>(SPOKEN_KEPT);

  /** The texts after which an item is read, in its own place and after its own kind, if both precede it in this order. */
  before(isSystem: boolean): readonly Earlier[] {
    const { all, system, others, othersBegin, beside } = this.#said;
    const systemFirst = endOf([...system, ...others]);
    const earlier: readonly Earlier[] =
      isSystem && othersBegin.length > 0
        ? [
            { from: "system", texts: behindBorder(system) },
            { from: "user", texts: othersBegin },
            { from: "user", texts: behindBorder(all) },
          ]
        : isSystem || JSON.stringify(systemFirst) === JSON.stringify(all)
          ? [{ from: isSystem ? "system" : "user", texts: beside.length === 0 ? all : behindBorder(all) }]
          : [
              { from: "user", texts: behindBorder(systemFirst) },
              { from: "system", texts: behindBorder(all) },
            ];
    const thoughts: Earlier = { from: "thought", texts: beside };
    return [thoughts, ...earlier].filter(({ texts }) => texts.length > 0);
  }

  /** An item goes to the upstream. `eventId`: the id of its event; null: the upstream has it already. */
  add({ contents, isSystem, beside }: ItemTexts, eventId: string | null): void {
    if ([...contents, ...beside].every((text) => text === "")) return;
    const before = this.#said;
    this.#last = eventId === null ? null : { eventId, before };
    if (eventId !== null) this.#note(eventId);
    this.#said = {
      all: endOf([...before.all, ...contents]),
      system: isSystem ? endOf([...before.system, ...contents]) : before.system,
      others: isSystem ? before.others : endOf([...before.others, ...contents]),
      othersBegin: isSystem ? before.othersBegin : begunWith(before.othersBegin, contents),
      beside: endOf([...before.beside, ...beside]),
    };
  }

  #note(eventId: string): void {
    const [oldest = ""] = this.#events.keys();
    if (this.#events.size === EVENTS_KEPT) this.#forgotten = numberOf(oldest) ?? this.#forgotten;
    this.#events.set(eventId, true);
  }

  /** Whether the transcript of a part of an item is shown for the first time; now it was. */
  isNewlySpoken(part: string): boolean {
    const isNew = !this.#spoken.has(part);
    this.#spoken.set(part, true);
    return isNew;
  }

  /** The upstream has refused an event; null: it does not say which. Returns whether the text without that event is known. */
  refused(eventId: string | null): boolean {
    if (eventId === null) return this.#events.size === 0;
    if (this.#events.take(eventId) === null) return (numberOf(eventId) ?? Infinity) > this.#forgotten;
    if (this.#last?.eventId !== eventId) return false;
    this.#said = this.#last.before;
    this.#last = null;
    return true;
  }
}

function behindBorder(texts: Texts): Texts {
  return texts.length === 0 ? texts : [BORDER, ...texts];
}

/** The last characters, extended to the start of the word at the cut. */
function endOf(texts: Texts): Texts {
  const given = texts.filter((text) => text !== "");
  const older = given.slice(0, -TEXTS_KEPT).join("");
  const end: string[] = [];
  let left = SAID_MAX;
  for (const text of [...(older === "" ? [] : [older]), ...given.slice(-TEXTS_KEPT)].reverse()) {
    if (left <= 0) break;
    const over = Math.max(text.length - left, 0);
    const [word = ""] = /\S*$/.exec(text.slice(Math.max(over - WORD_MAX, 0), over)) ?? [];
    end.push(text.slice(over - word.length));
    left -= text.length;
  }
  return end.reverse();
}

/** The first characters, extended to the end of the word at the cut. */
function begunWith(begin: Texts, more: Texts): Texts {
  const texts = [...begin];
  let left = SAID_MAX - begin.join("").length;
  for (const text of more) {
    if (left <= 0 || texts.length >= TEXTS_KEPT) break;
    const [word = ""] = /^\S*/.exec(text.slice(left, left + WORD_MAX)) ?? [];
    if (text !== "") texts.push(text.slice(0, left + word.length));
    left -= text.length;
  }
  return texts;
}
