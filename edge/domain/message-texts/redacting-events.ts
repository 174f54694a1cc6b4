/**
 * Redaction of a streamed answer. Each text of an answer - content, reasoning and arguments of every choice - is a
 * stream of its own; what a match may still grow into is held back and comes with a later event, at the latest right
 * before the event that ends the text (docs/rules/guardrails.md#actions). An event of which nothing is changed or held
 * back passes byte for byte. The tokens that upstreams list beside a text (`logprobs`) are left out, because they would
 * show it.
 */
import { REDACTED } from "../../../shared/guardrails/replacements.ts";
import type { ScanRoom, TextScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { concat } from "../wire/bytes/byte-pieces.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { isUnreadJson, parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import { type TakeBytes, writtenInSteps } from "../wire/json/write-in-steps.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import { type EventParts, eventParts, type Fragment, keyOf, readEvent, writeEvent } from "./answer-events.ts";
import { type AnswerText, answerParts, dropPieces, grouped, wholeOf } from "./answer-texts.ts";
import { jsonLines } from "./collected-texts.ts";
import { EventCarrier, type Piece } from "./event-carrier.ts";
import { unseal } from "./signed-thoughts.ts";
import { startedTexts } from "./started-texts.ts";
import {
  ArgumentsRedaction,
  ContinuedRedaction,
  type RedactionTally,
  redactPlain,
  type TextRedaction,
  unescaped,
} from "./text-redaction.ts";

/** An answer has no more texts that are under way at once; more of them are an attack on memory. */
const TEXTS_MAX = 4096;
/** What is held for a text besides its characters: its place, and the scanners' own state. */
const TEXT_BYTES = 2_048;

const encoder = new TextEncoder();
/** Room for every text. */
const ALL: ScanRoom = { units: Number.POSITIVE_INFINITY };
/** Characters that are read at once, of a text and of JSON in one, whose every string is a text. */
const PART = 1024;
const JSON_PART = 256;
/** Work for a character, for a string, number or escape of JSON, and for a text, in units. */
const CHARACTER_UNITS = 16;
const STRING_UNITS = 32;
const TEXT_UNITS = 64;

/** A text under way. */
interface OpenText {
  readonly key: string;
  readonly redaction: TextRedaction;
  readonly owner: Fragment["owner"];
  readonly place: Fragment["place"];
  /** The event in which it began; all texts that began in it have the same. */
  readonly carrier: EventCarrier;
  /** The memory that is counted for it. */
  bytes: number;
}

export class RedactingEvents implements ResponseTransform {
  readonly #scan: TextScan;
  readonly #tally: RedactionTally;
  readonly #room: (bytes: number) => boolean;
  readonly #failOpen: boolean;
  readonly #open = new Map<string, OpenText>();
  /** By key, the rests with which texts ended. */
  readonly #ended = new Map<string, string>();
  /** The memory of the texts under way, and the most that there was room for. */
  #bytes = 0;
  #roomBytes = 0;

  /**
   * @param tally counts what is replaced
   * @param room takes this many bytes more for texts under way; false: they do not fit
   * @param failOpen an event that only others can read passes, as one text
   */
  constructor(scan: TextScan, tally: RedactionTally, room: (bytes: number) => boolean = () => true, failOpen = false) {
    this.#scan = scan;
    this.#tally = tally;
    this.#room = room;
    this.#failOpen = failOpen;
  }

  concerns(): boolean {
    return true;
  }

  /** The memory that is held for texts under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Throws when an event cannot be read, when an answer has more texts at once than any honest one, or when there is no
   * room for what is held of them.
   */
  *event(event: Uint8Array): Steps<Uint8Array> {
    const { fields, data, value, stray } = yield* readEvent(event);
    if (stray !== "") {
      const text = new TextDecoder().decode(event);
      const redacted = yield* redactDocument(this.#scan, this.#tally, text, ALL, (bytes) => this.#take(bytes));
      if (redacted !== text) return encoder.encode(redacted);
    }
    if (data === null) return event;
    if (data.trim() === "[DONE]") return this.#after(yield* this.#rest(() => true), event);
    if (value === undefined && !this.#failOpen && isUnreadJson(data)) throw new Error("an event that cannot be read");
    if (value === undefined || typeof value === "string") {
      const redacted = yield* redactWhole(this.#scan, this.#tally, data, value);
      return redacted === data ? event : encoder.encode(writeEvent(fields, redacted));
    }
    const started = yield* startedTexts(value);
    if (started !== null) {
      const written: Uint8Array[] = [];
      for (const part of started) written.push(yield* this.event(eventOf(part)));
      return concat(written);
    }
    const parts = yield* eventParts(value);
    if (!parts.isWhole) throw new Error("an event with too many texts");
    // first, because the event is repeated with the rests of its fragments
    const bytes = this.#bytes;
    const isOtherwise = yield* redactEach(this.#scan, this.#tally, parts.wholes, value, (taken) => this.#take(taken));
    this.#take(bytes - this.#bytes);
    const own = yield* this.#textsOf(parts, fields, data, value);
    const changed = [
      isOtherwise,
      yield* this.#redactFragments(parts, own),
      yield* dropPieces(parts),
      // written anew, each name is there once
      yield* hasRepeatedName(data, value),
    ];
    const before = parts.ends === null ? "" : yield* this.#rest(parts.ends, new Set(own));
    if (!changed.includes(true)) return this.#after(before, event);
    const written = new TextDecoder().decode(yield* writtenInSteps(value));
    return this.#after(before, encoder.encode(writeEvent(fields, written)));
  }

  /** Everything that is still held back: the stream has ended. */
  *finish(): Steps<Uint8Array> {
    return encoder.encode(yield* this.#rest(() => true));
  }

  #after(before: string, event: Uint8Array): Uint8Array {
    return before === "" ? event : concat([encoder.encode(before), event]);
  }

  /** The texts of the fragments of an event, before anything that goes on is changed in it. */
  *#textsOf(
    { fragments }: EventParts,
    fields: readonly string[],
    data: string,
    value: unknown,
  ): Steps<readonly OpenText[]> {
    const carriers = new Map<boolean, EventCarrier>();
    const carrierOf = ({ place }: Fragment): EventCarrier => {
      const ofChoices = place[0] === "choices";
      const known = carriers.get(ofChoices);
      if (known !== undefined) return known;
      const carrier = new EventCarrier(fields, data, value, ofChoices);
      carriers.set(ofChoices, carrier);
      return carrier;
    };
    const open: OpenText[] = [];
    for (const fragment of fragments) {
      yield TEXT_UNITS;
      open.push(this.#textOf(fragment, carrierOf));
    }
    return open;
  }

  *#redactFragments({ fragments, ends }: EventParts, open: readonly OpenText[]): Steps<boolean> {
    let changed = false;
    for (const [nth, { holder, name, text, owner }] of fragments.entries()) {
      const its = open[nth];
      if (its === undefined) continue;
      const ended = ends?.(owner) === true;
      const released = (yield* pushed(its.redaction, text)) + (ended ? this.#end(its) : "");
      if (!ended) this.#count(its, TEXT_BYTES + (its.key.length + its.carrier.characters) * 2 + its.redaction.bytes);
      if (released === text) continue;
      holder[name] = released;
      changed = true;
    }
    return changed;
  }

  #textOf(fragment: Fragment, carrierOf: (fragment: Fragment) => EventCarrier): OpenText {
    const { owner, place, json } = fragment;
    const key = keyOf(fragment);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const ended = this.#ended.get(key);
    if (this.#open.size + this.#ended.size >= TEXTS_MAX && ended === undefined)
      throw new Error("too many texts in one answer");
    const redaction = this.#redactionOf(json, ended);
    const open = { key, redaction, owner, place, carrier: carrierOf(fragment), bytes: 0 };
    this.#open.set(key, open);
    return open;
  }

  /** `ended`: what the client got last of a text that had ended, and goes on. */
  #redactionOf(json: boolean, ended: string | undefined): TextRedaction {
    if (json && ended === undefined) return new ArgumentsRedaction(this.#scan, this.#tally);
    const plain = redactPlain(this.#scan, this.#tally);
    return ended === undefined ? plain : new ContinuedRedaction(plain, ended);
  }

  #count(text: OpenText, bytes: number): void {
    this.#take(bytes - text.bytes);
    text.bytes = bytes;
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#roomBytes) return;
    if (!this.#room(this.#bytes - this.#roomBytes)) throw new Error("no room for the texts of an answer");
    this.#roomBytes = this.#bytes;
  }

  /** Ends a text; returns its rest. What a client reads as its continuation must not complete a match. */
  #end({ key, redaction, bytes }: OpenText): string {
    const rest = redaction.finish();
    const had = redaction instanceof ContinuedRedaction ? redaction.rest : rest;
    const before = this.#ended.get(key);
    this.#open.delete(key);
    if (had === "") this.#ended.delete(key);
    else this.#ended.set(key, had);
    this.#take(endedBytes(key, had) - endedBytes(key, before ?? "") - bytes);
    return rest;
  }

  /** Events with the rests of the texts that end, but for those whose rest is in their own event. */
  *#rest(ends: NonNullable<EventParts["ends"]>, but: ReadonlySet<OpenText> = new Set()): Steps<string> {
    const rests = new Map<EventCarrier, Piece[]>();
    for (const text of this.#open.values()) {
      yield TEXT_UNITS;
      if (but.has(text) || !ends(text.owner)) continue;
      const piece = { place: text.place, text: this.#end(text) };
      if (piece.text === "") continue;
      const others = rests.get(text.carrier);
      if (others === undefined) rests.set(text.carrier, [piece]);
      else others.push(piece);
    }
    let events = "";
    for (const [carrier, pieces] of rests) events += yield* carrier.write(pieces);
    return events;
  }
}

function endedBytes(key: string, rest: string): number {
  return rest === "" ? 0 : (key.length + rest.length) * 2;
}

/** An event of Anthropic's messages or of the Responses API. */
function eventOf(value: JsonObject): Uint8Array {
  return encoder.encode(writeEvent([`event: ${String(value["type"])}`], JSON.stringify(value)));
}

/** Data that is one text without what matches: JSON with this value, or, without a value, what is JSON at most for others. */
function* redactWhole(
  scan: TextScan,
  tally: RedactionTally,
  data: string,
  value: string | undefined,
  room = ALL,
): Steps<string> {
  const text = value ?? data;
  const before = tally.total;
  const redacted = yield* redactText(scan, tally, { text, json: value === undefined && isUnreadJson(data) }, room);
  if (tally.total === before) return data;
  return value === undefined ? redacted : JSON.stringify(redacted);
}

/** A complete text without what matches. */
export function* redactText(
  scan: TextScan,
  tally: RedactionTally,
  { text, json }: Pick<AnswerText, "text" | "json">,
  room: ScanRoom,
): Steps<string> {
  if (json) {
    const redaction = new ArgumentsRedaction(scan, tally);
    const redacted = (yield* pushed(redaction, text)) + redaction.finish();
    if (!redacted.includes("\\") || (yield* parsedInSteps(redacted)) !== undefined) return redacted;
    const { counts } = yield* scan.redacting([{ text: yield* unescaped(redacted), user: false }], room);
    tally.add(counts);
    return counts.pii + counts.ban_keywords > 0 ? REDACTED : redacted;
  }
  const { texts, counts } = yield* scan.redacting([{ text, user: false }], room);
  tally.add(counts);
  return texts[0] ?? "";
}

/** What can be released of a text with this piece of it. */
function* pushed(redaction: TextRedaction, text: string): Steps<string> {
  let released = "";
  const json = redaction instanceof ArgumentsRedaction ? redaction : null;
  const length = json === null ? PART : JSON_PART;
  for (let at = 0; at < text.length; at += length) {
    const part = text.slice(at, at + length);
    released += redaction.push(part);
    yield part.length * CHARACTER_UNITS + (json?.takeEnded() ?? 0) * STRING_UNITS;
  }
  return released;
}

/**
 * A whole answer that is no event stream, without what matches as far as there is room. Lines of JSON are events without the
 * words of event streams; what else is not JSON is redacted as one text.
 */
export function* redactDocument(
  scan: TextScan,
  tally: RedactionTally,
  text: string,
  room: ScanRoom = ALL,
  take: TakeBytes = () => undefined,
): Steps<string> {
  const document = yield* parsedInSteps(text);
  if (document === undefined) {
    const lines = yield* jsonLines(text);
    if (lines === null) return yield* redactWhole(scan, tally, text, undefined, room);
    return yield* redactLines(scan, tally, lines, take);
  }
  if (typeof document === "string") return yield* redactWhole(scan, tally, text, document, room);
  const parts = yield* answerParts(document);
  const changed = [yield* dropPieces(parts), yield* redactEach(scan, tally, parts.texts, document, take, room)];
  return changed.includes(true) ? new TextDecoder().decode(yield* writtenInSteps(document, take)) : text;
}

/** The lines without what matches, and lines more for what was held back. */
function* redactLines(
  scan: TextScan,
  tally: RedactionTally,
  lines: readonly string[],
  takeBytes: TakeBytes,
): Steps<string> {
  const events = new RedactingEvents(scan, tally, (bytes) => {
    takeBytes(bytes);
    return true;
  });
  const redacted: string[] = [];
  const take = (written: Uint8Array): void => {
    redacted.push(new TextDecoder().decode(written).replaceAll(/^data: (.*)\n\n/gm, "$1\n"));
  };
  for (const [at, line] of lines.entries()) {
    // what the last line says may be that the answer has ended
    const isEnd = at === lines.length - 1 && (yield* eventParts(yield* parsedInSteps(line))).fragments.length === 0;
    if (isEnd) take(yield* events.finish());
    take(yield* events.event(encoder.encode(writeEvent([], line))));
    yield line.length;
  }
  take(yield* events.finish());
  return redacted.join("");
}

/** Redacts complete texts in their document, the parts of one as one; false: nothing matches. */
function* redactEach(
  scan: TextScan,
  tally: RedactionTally,
  texts: readonly AnswerText[],
  document: unknown,
  take: TakeBytes,
  room = ALL,
): Steps<boolean> {
  let changed = false;
  const keyOfWhole = ({ json, alone, place }: AnswerText): string | null => (json || alone ? null : wholeOf(place));
  const wholes = yield* grouped(texts, keyOfWhole, (characters) => {
    take(characters * 2);
    return true;
  });
  for (const parts of wholes)
    for (const [at, redacted] of (yield* redactParts(scan, tally, parts, room)).entries()) {
      const { holder, name, text, ofValue } = parts[at] as AnswerText;
      if (redacted === text) continue;
      holder[name] = (ofValue ? yield* parsedInSteps(redacted) : undefined) ?? redacted;
      // it would not fit, and servers refuse such a thought, while one without is left out
      if (name === "thinking" && typeof holder["signature"] === "string") holder["signature"] = "";
      unseal(document, parts[at] as AnswerText);
      changed = true;
    }
  return changed;
}

function* redactParts(
  scan: TextScan,
  tally: RedactionTally,
  parts: readonly AnswerText[],
  room: ScanRoom,
): Steps<readonly string[]> {
  const [first] = parts;
  if (first?.json === true) return [yield* redactText(scan, tally, first, room)];
  const { texts, counts } = yield* scan.redacting(
    parts.map(({ text }) => ({ text, user: false })),
    room,
  );
  tally.add(counts);
  return texts;
}
