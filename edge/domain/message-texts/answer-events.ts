/**
 * The events of a streamed answer as guardrails read them: which texts continue a text of earlier events, and which texts an
 * event ends. Knows chat and text completions (`choices`), the events of the Responses API and of Anthropic's messages, and
 * takes any other event without a `type` for a piece of the text before it.
 */
import type { Steps } from "../../../shared/steps.ts";
import { elementsOf, objectOf, textOf } from "../dialect/values.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { OTHER_ENDS } from "../wire/sse/events.ts";
import { LongText } from "../wire/text/long-text.ts";
import { type AnswerParts, type AnswerText, answerParts, isDelta, isPlace } from "./answer-texts.ts";
import { type Ids, TextOrder } from "./text-order.ts";

/** Longer types of events, and ids of items, are compared up to here. */
const ID_MAX = 256;
/** The end of a type shows which text an event ends; a type may be as long as its event. */
const END_MAX = 16;
/** Only for this many choices is it known that they ended before their stream did. */
const CHOICES_MAX = 4_096;
/** Work for a text, in units. */
const TEXT_UNITS = 64;
const LINE_UNITS = 8;

/** An event of a stream. */
interface AnswerEvent {
  /** The lines that are not data, such as `event:`, and stray lines. */
  readonly fields: readonly string[];
  /** The data as it came; null if the event has none. */
  readonly data: string | null;
  /** The parsed data; undefined: it is not JSON. */
  readonly value: unknown;
  /** The lines that no event has: what only claims to be an event stream may be a document, or lines of JSON. */
  readonly stray: string;
}

/** A comment, or a field other than the data, as clients take them for nothing else: one short line, and a name without blanks. */
export const EVENT_FIELD = new RegExp(`^(?:(?:|id|retry)(?::[^${OTHER_ENDS}]{0,256})?|event(?:: ?[\\w.:/-]{0,256})?)$`);

/** The types of events that clients of Anthropic's messages read, under these names; newer ones under any but `ping`. */
const OF_MESSAGES = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop))$/;
/** Clients of OpenAI wrap the data of such an event, and read nothing of it. */
const WRAPPED = /^thread\./;
/** The start of a line with the name of an event; without a colon it takes away an earlier name. */
export const EVENT_NAME = /^event(?:: ?|$)/;
const MARK = /^\ufeff/;
/** A line with a byte order mark, which some clients take for a blank. */
export const MARKED = /^\ufeff/m;

/** The name of an event as SDKs read it: the last one; null: no line is one. */
export function eventNameOf(fields: readonly string[]): string | null {
  return fields.findLast((line) => EVENT_NAME.test(line))?.replace(EVENT_NAME, "") ?? null;
}

/** Whether SDKs skip an event with this data because of its name; null: only some of them do. */
export function isSkippedEvent(fields: readonly string[], value: unknown): boolean | null {
  const name = eventNameOf(fields);
  if (!OF_MESSAGES.test(typeOf(value))) return WRAPPED.test(name ?? "");
  if (name === null || name === "ping") return true;
  return OF_MESSAGES.test(name) ? false : null;
}

/** Whether the fields of an event, without comments, repeat the type of its data. */
export function areOfType(fields: readonly string[], value: unknown): boolean {
  const type = typeOf(value);
  const isOwn = (line: string): boolean => type !== "" && line.replace(EVENT_NAME, "") === type;
  return fields.every((line) => !EVENT_FIELD.test(line) || line.startsWith(":") || isOwn(line));
}

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Reads the bytes of one event, with or without its blank line. Clients drop a byte order mark only before the first one. */
export function* readEvent(bytes: Uint8Array, isFirst = true): Steps<AnswerEvent> {
  const [data, strays, fields] = [new LongText("\n"), new LongText("\n"), [] as string[]];
  const decoded = decoder.decode(bytes);
  for (const [line] of (isFirst ? decoded.replace(MARK, "") : decoded).matchAll(/[^\r\n]+/g)) {
    yield LINE_UNITS;
    if (isData(line)) data.add(line.slice(line[5] === " " ? 6 : 5));
    else {
      fields.push(line);
      if (!EVENT_FIELD.test(line)) strays.add(line);
    }
  }
  const stray = strays.text;
  if (data.isEmpty) return { fields, data: null, value: undefined, stray };
  const { text } = data;
  return { fields, data: text, value: yield* parsedInSteps(text), stray };
}

/** The text of an event with other data. */
export function writeEvent(fields: readonly string[], data: string): string {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return `${[...fields, ...lines].join("\n")}\n\n`;
}

/** A text of an event that continues the text of the same `key` in earlier events. */
export interface Fragment extends AnswerText {
  readonly owner: TextOwner;
}

/** A key that distinguishes the text from others. It is far longer than a short piece: build it for one fragment at a time. */
export function keyOf({ owner: { choice, type, item, ids }, place }: Fragment): string {
  return JSON.stringify([...(choice === null ? [type, item, ...ids] : []), ...place]);
}

/** The owner of a text: a choice, or a part of an item of output. */
interface TextOwner {
  readonly choice: number | null;
  /** The type of the events that carry it; null: it has none, or belongs to a choice. */
  readonly type: string | null;
  /** The item of output that it names, where clients read that. */
  readonly item: string | number | null;
  readonly ids: Ids;
}

/** The effects of an event on the texts of its answer. */
export interface EventParts extends AnswerParts {
  /** Its texts that continue earlier ones. */
  readonly fragments: readonly Fragment[];
  /** Its separate texts: a text that is complete, or the start of one. */
  readonly wholes: readonly AnswerText[];
  readonly type: string | null;
  /** The numbers of the part of the answer that it is about. */
  readonly ids: Ids;
  /** Whether a text of this owner ends with the event; none of its pieces comes later. Null: the event ends none. */
  readonly ends: ((owner: TextOwner) => boolean) | null;
}

/**
 * Reads the parsed data of an event.
 *
 * @param order the events before it
 * @param startsText it starts a part with a text, which has been taken out of it
 */
export function* eventParts(value: unknown, order = new TextOrder(), startsText = false): Steps<EventParts> {
  const parts = yield* answerParts(value);
  const event = objectOf(value);
  const type = typeof event["type"] === "string" ? event["type"] : null;
  const ids = idsOf(type, event);
  const isComplete = type !== null && (!isDelta(type) || WHOLE_DELTAS.has(objectOf(event["delta"])["type"]));
  const { choices } = event;
  const isOdd = parts.isOdd && (type !== null || choices !== undefined);
  let isWhole = parts.isWhole && !isOdd && areNumbers(type, event);
  const named = type?.slice(0, ID_MAX) ?? null;
  const { item_id } = event;
  const item = isKnown(type) ? null : typeof item_id === "string" ? item_id.slice(0, ID_MAX) : numberOf(item_id);
  // clients read a piece of a block by its own type
  const kind = type === "content_block_delta" ? ` ${textOf(objectOf(event["delta"])["type"]).slice(0, ID_MAX)}` : "";
  const ofEvent: TextOwner = { choice: null, type: named === null ? null : named + kind, item, ids };
  const fragments: Fragment[] = [];
  const wholes: AnswerText[] = [];
  for (const found of parts.texts) {
    yield TEXT_UNITS;
    // clients read nothing else of an event with choices
    const choice = found.place[0] === "choices" ? Number(found.place[1]) : null;
    if (found.ofValue || found.alone || isSigned(found) || (isComplete && choice === null)) wholes.push(found);
    else {
      const owner = choice === null ? ofEvent : { choice, type: null, item: null, ids: NO_IDS };
      fragments.push({ ...found, owner });
      isWhole &&= choice !== null || order.continues(ids, named, item_id);
    }
  }
  const isInOrder = type === null || order.takes(type, ids, event, wholes, startsText);
  isWhole = order.takesChoices(choices, parts.texts) && isInOrder && isWhole;
  const finished = finishedChoices(choices);
  const endsItem = isDelta(type) ? null : endsByType(type ?? "", ids);
  const ends = (owner: TextOwner): boolean =>
    owner.choice === null ? endsItem?.(owner) === true : finished.has(owner.choice);
  return {
    ...parts,
    fragments,
    wholes,
    type: named,
    ids,
    isWhole,
    ends: endsItem === null && finished.size === 0 ? null : ends,
  };
}

/** A thought as it was signed: a piece of it would not fit its signature. */
function isSigned({ holder, name }: AnswerText): boolean {
  const { signature } = holder as { readonly signature?: unknown };
  return name === "thinking" && typeof signature === "string" && signature !== "";
}

function endsByType(type: string, ids: Ids): EventParts["ends"] {
  const end = type.slice(-END_MAX);
  if (/(?:completed|incomplete|failed|message_stop)$/.test(end)) return () => true;
  if (!/(?:done|stop)$/.test(end)) return null;
  return (owner) => ids.every((id, at) => id === null || id === owner.ids[at]);
}

const NO_IDS = [null, null, null, null];

const NUMBERS = ["output_index", "content_index", "summary_index", "command_index", "index"];
/** Pieces of a message that are no pieces of a text: each is complete. */
const WHOLE_DELTAS: ReadonlySet<unknown> = new Set(["citations_delta", "compaction_delta"]);

/** True for events whose client knows by their numbers alone which text they continue. */
function isKnown(type: string | null): boolean {
  return type === null || /^(?:content_block_|response\.|transcript\.)/.test(type);
}

/**
 * The numbers by which an event names the part of the answer that it continues: those that its clients read. Others do not keep two
 * pieces of a text apart.
 */
function idsOf(type: string | null, event: JsonObject): Ids {
  const [output = null, content = null, summary = null, command = null, index = null] = NUMBERS.map((name) =>
    numberOf(event[name]),
  );
  if (!isKnown(type)) return [output, content, summary, index];
  if (type?.startsWith("transcript.") === true) return NO_IDS;
  if (type?.startsWith("response.") !== true) return [null, null, null, index];
  if (/item|arguments|input|code/.test(type)) return [output, null, null, null];
  if (type.includes("shell")) return [output, null, command, null];
  return type.includes("summary") ? [output, null, summary, null] : [output, content, null, null];
}

/** False: an event whose clients go by its numbers has one that is none, which some of them read as one. */
function areNumbers(type: string | null, event: JsonObject): boolean {
  return !isKnown(type) || NUMBERS.every((name) => isPlace(event[name] ?? 0));
}

function numberOf(id: unknown): number | null {
  return isPlace(id) ? id : null;
}

function finishedChoices(choices: unknown): ReadonlySet<number> {
  const finished = new Set<number>();
  for (const [at, choice] of elementsOf(choices).slice(0, CHOICES_MAX).entries()) {
    const { finish_reason, index } = objectOf(choice);
    if (textOf(finish_reason) !== "") finished.add(numberOf(index) ?? at);
  }
  return finished;
}

function typeOf(value: unknown): string {
  return textOf(objectOf(value)["type"]);
}

function isData(line: string): boolean {
  return line === "data" || line.startsWith("data:");
}
