/**
 * Redaction of a streamed answer. Each text of an answer - content, reasoning and arguments of every choice - is a separate
 * stream; text that may still become a match is held back and comes with a later event, at the latest right before the event
 * that ends the text (docs/rules/guardrails.md#actions). An event without changes or held-back text passes byte for byte. The
 * tokens that upstreams list beside a text (`logprobs`) are left out, because they would show it.
 */
import type { ScanRoom, TextScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { concat } from "../wire/bytes/byte-pieces.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import { jsonInSteps, type TakeBytes } from "../wire/json/write-in-steps.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import {
  EVENT_FIELD,
  type EventParts,
  eventParts,
  type Fragment,
  isSkippedEvent,
  keyOf,
  MARKED,
  readEvent,
  writeEvent,
} from "./answer-events.ts";
import { dropPieces } from "./answer-texts.ts";
import { EventCarrier, type Piece } from "./event-carrier.ts";
import { type JsonLine, readLines } from "./loose-lines.ts";
import { ALL, pushed, redactEach, redactJson, redactString, redactText, redactUnmarked } from "./redacted-texts.ts";
import { startedTexts } from "./started-texts.ts";
import { TextOrder } from "./text-order.ts";
import {
  ArgumentsRedaction,
  ContinuedRedaction,
  type RedactionTally,
  type ResumedRedaction,
  redactEither,
} from "./text-redaction.ts";

/** No answer has more texts that continue; more of them are an attack on memory. */
const TEXTS_MAX = 4096;
/** Memory for a text besides its characters: its place, and the scanners' own state. */
const TEXT_BYTES = 2_048;

const encoder = new TextEncoder();
/** Work for a text, in units. */
const TEXT_UNITS = 64;

/** A text under way. */
interface OpenText {
  readonly key: string;
  readonly redaction: ResumedRedaction;
  readonly owner: Fragment["owner"];
  readonly place: Fragment["place"];
  /** The event in which it started; all texts that started in it share it. */
  readonly carrier: EventCarrier;
  /** The memory that is counted for it. */
  bytes: number;
}

export class RedactingEvents implements ResponseTransform {
  readonly #scan: TextScan;
  readonly #tally: RedactionTally;
  readonly #room: (bytes: number) => boolean;
  readonly #failOpen: boolean;
  readonly #order: TextOrder;
  readonly #open = new Map<string, OpenText>();
  /** Texts that have ended, and may continue. */
  readonly #ended = new Map<string, Pick<OpenText, "redaction" | "bytes">>();
  /** The memory of the texts, and the most that there was room for. */
  #bytes = 0;
  #roomBytes = 0;
  #plain = true;
  #isFirst = true;
  /** Whether SDKs skip the events with texts that continue. */
  #isSkipped: boolean | null = null;

  /**
   * @param tally counts what is replaced
   * @param room takes this many bytes more for texts under way; false: they do not fit
   * @param failOpen an event that only others can read passes, as one text
   * @param answers how many the client has asked for
   */
  constructor(
    scan: TextScan,
    tally: RedactionTally,
    room: (bytes: number) => boolean = () => true,
    failOpen = false,
    answers?: number,
  ) {
    this.#scan = scan;
    this.#tally = tally;
    this.#room = room;
    this.#failOpen = failOpen;
    this.#order = new TextOrder(answers);
  }

  concerns(): boolean {
    return true;
  }

  /** False: an event came that only others can read. */
  get plain(): boolean {
    return this.#plain;
  }

  /** The memory that is held for texts under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Throws when an event cannot be read, when an answer has more texts at once than any honest one, or when there is no room
   * for their held-back text.
   */
  *event(event: Uint8Array): Steps<Uint8Array> {
    const { fields, data, value, stray } = yield* readEvent(event, this.#isFirst);
    this.#isFirst = false;
    this.#checkRead(MARKED.test(stray));
    if (stray !== "") {
      const redacted = yield* this.#loose(stray);
      if (redacted !== stray) {
        const own = fields.filter((line) => EVENT_FIELD.test(line));
        const rest = data === null ? own.map((line) => `${line}\n\n`).join("") : writeEvent(own, data);
        const others = data === null ? encoder.encode(rest) : yield* this.event(encoder.encode(rest));
        return concat([encoder.encode(`${redacted}\n\n`), others]);
      }
    }
    if (data === null) return event;
    if (data.trim() === "[DONE]") return this.#after(yield* this.#rest(() => true), event);
    if (value === undefined || typeof value === "string") {
      const redacted =
        value === undefined
          ? yield* this.#loose(data)
          : yield* redactString(this.#scan, this.#tally, { json: data, value });
      return redacted === data ? event : encoder.encode(writeEvent(fields, redacted));
    }
    const started = startedTexts(value);
    if (started !== null) {
      const written: Uint8Array[] = [];
      const isNamed = fields.some((line) => line.startsWith("event"));
      for (const part of started) written.push(yield* this.event(yield* eventOf(part, isNamed)));
      return concat(written);
    }
    const parts = yield* eventParts(value, this.#order);
    const isSkipped = isSkippedEvent(fields, value);
    this.#checkRead(isSkipped === null);
    if (parts.fragments.length > 0) this.#isSkipped ??= isSkipped;
    // clients that skip such events join other pieces
    this.#checkRead(!parts.isWhole || (parts.fragments.length > 0 && this.#isSkipped !== isSkipped));
    // first, because the event is repeated with the rests of its fragments
    const bytes = this.#bytes;
    const isOtherwise = yield* redactEach(this.#scan, this.#tally, parts.wholes, value, (taken) => this.#take(taken));
    this.#take(bytes - this.#bytes);
    const own = yield* this.#textsOf(parts, fields, data, value);
    const changed = [
      isOtherwise,
      yield* this.#redactFragments(parts, own),
      yield* dropPieces(parts),
      // rewritten, so each name occurs once
      yield* hasRepeatedName(data, value),
    ];
    const before = parts.ends === null ? "" : yield* this.#rest(parts.ends, new Set(own));
    if (!changed.includes(true)) return this.#after(before, event);
    const written = yield* jsonInSteps(value);
    return this.#after(before, encoder.encode(writeEvent(fields, written)));
  }

  /** Everything that is still held back: the stream has ended. */
  *finish(): Steps<Uint8Array> {
    return encoder.encode(yield* this.#rest(() => true));
  }

  /** What no event has, and data that is no JSON. Throws when only others can read it. */
  *#loose(text: string): Steps<string> {
    const [scan, tally, bytes] = [this.#scan, this.#tally, this.#bytes];
    const take = (more: number): void => this.#take(more);
    const value = yield* parsedInSteps(text);
    if (typeof value === "string") return yield* redactString(scan, tally, { json: text, value });
    const redacted: string[] = [];
    const checkRead = this.#checkRead.bind(this);
    let isMixed = false;
    if (value !== undefined) redacted.push(yield* redactJson(scan, tally, { json: text, value }, take));
    else
      isMixed = yield* readLines(text, {
        *json(line) {
          redacted.push(line.lead, yield* redactJson(scan, tally, line, take), line.tail);
        },
        *text(given, isUnread) {
          checkRead(isUnread);
          redacted.push(yield* redactUnmarked(scan, tally, given, ALL));
        },
      });
    this.#take(bytes - this.#bytes);
    const written = redacted.join("");
    return isMixed ? yield* redactText(scan, tally, { text: written, json: false }, ALL) : written;
  }

  #checkRead(isUnread: boolean): void {
    this.#plain &&= !isUnread;
    if (isUnread && !this.#failOpen) throw new Error("an event that cannot be read");
  }

  #after(before: string, event: Uint8Array): Uint8Array {
    return before === "" ? event : concat([encoder.encode(before), event]);
  }

  /** The texts of the fragments of an event, before any continuing text in it is changed. */
  *#textsOf(
    { fragments }: EventParts,
    fields: readonly string[],
    data: string,
    value: unknown,
  ): Steps<readonly OpenText[]> {
    const carriers = new Map<boolean, EventCarrier>();
    const carrierOf = function* ({ place }: Fragment): Steps<EventCarrier> {
      const ofChoices = place[0] === "choices";
      const known = carriers.get(ofChoices);
      if (known !== undefined) return known;
      const carrier = yield* EventCarrier.of(fields, data, value, ofChoices);
      carriers.set(ofChoices, carrier);
      return carrier;
    };
    const open: OpenText[] = [];
    for (const fragment of fragments) {
      yield TEXT_UNITS;
      open.push(yield* this.#textOf(fragment, carrierOf));
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

  *#textOf(fragment: Fragment, carrierOf: (fragment: Fragment) => Steps<EventCarrier>): Steps<OpenText> {
    const { owner, place, json } = fragment;
    const key = keyOf(fragment);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const ended = this.#ended.get(key);
    if (this.#open.size + this.#ended.size >= TEXTS_MAX && ended === undefined)
      throw new Error("too many texts in one answer");
    ended?.redaction.resume();
    this.#ended.delete(key);
    const { redaction = this.#redactionOf(json), bytes = 0 } = ended ?? {};
    const open = { key, redaction, owner, place, carrier: yield* carrierOf(fragment), bytes };
    this.#open.set(key, open);
    return open;
  }

  #redactionOf(json: boolean): ResumedRedaction {
    const [scan, tally] = [this.#scan, this.#tally];
    return json ? new ContinuedRedaction(new ArgumentsRedaction(scan, tally)) : redactEither(scan, tally);
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

  /** Ends a text; returns its rest. Text that a client reads as its continuation must not complete a match. */
  #end(text: OpenText): string {
    const { key, redaction } = text;
    const rest = redaction.finish();
    this.#count(text, TEXT_BYTES + key.length * 2 + redaction.bytes);
    this.#open.delete(key);
    this.#ended.set(key, { redaction, bytes: text.bytes });
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

/** An event of Anthropic's messages or of the Responses API. */
function* eventOf(value: JsonObject, isNamed: boolean): Steps<Uint8Array> {
  return encoder.encode(writeEvent(isNamed ? [`event: ${String(value["type"])}`] : [], yield* jsonInSteps(value)));
}

/**
 * A whole answer without what matches as far as there is room. Lines of JSON are events without the words of event streams.
 *
 * @param hasEvents the answer has events, which are taken apart; if it is no document, it is redacted as one text
 */
export function* redactDocument(
  scan: TextScan,
  tally: RedactionTally,
  text: string,
  room: ScanRoom = ALL,
  take: TakeBytes = () => undefined,
  hasEvents = false,
): Steps<string> {
  const value = yield* parsedInSteps(text);
  if (typeof value === "string") return yield* redactString(scan, tally, { json: text, value }, room);
  if (value !== undefined) return yield* redactJson(scan, tally, { json: text, value }, take, room);
  if (hasEvents) return yield* redactText(scan, tally, { text, json: false }, room);
  const lines = new RedactedLines(scan, tally, room, take);
  const isMixed = yield* readLines(text, lines);
  const redacted = yield* lines.finish();
  return isMixed ? yield* redactText(scan, tally, { text: redacted, json: false }, room) : redacted;
}

/** Lines without their matches, and additional lines for held-back text. */
class RedactedLines {
  readonly #scan: TextScan;
  readonly #tally: RedactionTally;
  readonly #room: ScanRoom;
  readonly #events: RedactingEvents;
  readonly #redacted: string[] = [];
  /** The last line of JSON, until the next one is known. */
  #last: JsonLine | null = null;
  #lead = "";

  constructor(scan: TextScan, tally: RedactionTally, room: ScanRoom, take: TakeBytes) {
    this.#scan = scan;
    this.#tally = tally;
    this.#room = room;
    this.#events = new RedactingEvents(scan, tally, (bytes) => {
      take(bytes);
      return true;
    });
  }

  *json(line: JsonLine): Steps<void> {
    yield* this.#writeLast();
    this.#last = line;
  }

  *text(text: string): Steps<void> {
    yield* this.#writeLast();
    this.#redacted.push(yield* redactUnmarked(this.#scan, this.#tally, text, this.#room));
  }

  *finish(): Steps<string> {
    // the last line may say that the answer has ended
    const isEnd = this.#last !== null && (yield* eventParts(this.#last.value)).fragments.length === 0;
    if (isEnd) this.#write(yield* this.#events.finish());
    yield* this.#writeLast();
    this.#write(yield* this.#events.finish());
    return this.#redacted.join("");
  }

  *#writeLast(): Steps<void> {
    if (this.#last === null) return;
    const { lead, json, tail } = this.#last;
    this.#last = null;
    this.#lead = lead;
    this.#write(yield* this.#events.event(encoder.encode(writeEvent([], json))), tail);
    yield json.length;
  }

  /** Events as lines like the last one. */
  #write(events: Uint8Array, tail = ""): void {
    const end = tail === "" ? "\n" : tail;
    const asLine = (_: string, json: string): string => `${this.#lead}${json}${end}`;
    this.#redacted.push(new TextDecoder().decode(events).replaceAll(/(?:event: [^\n]*\n)?data: ([^\n]*)\n\n/g, asLine));
  }
}
