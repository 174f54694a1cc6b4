/**
 * Redaction of one text of an answer as it arrives: of plain text, and of the arguments of a tool call, which are JSON
 * inside a string and stay valid JSON (docs/rules/guardrails.md#actions). Text is released as soon as no match can grow
 * into it. No text is lost or doubled, whether it is valid JSON or not.
 */
import type { RedactingStream } from "../../../shared/guardrails/redacting-stream.ts";
import type { RedactionCounts } from "../../../shared/guardrails/replacements.ts";
import type { TextScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { LongText } from "../wire/text/long-text.ts";

/** Where the counts of several redactions are added up. */
export class RedactionTally implements RedactionCounts {
  pii = 0;
  ban_keywords = 0;

  get total(): number {
    return this.pii + this.ban_keywords;
  }

  add(counts: RedactionCounts): void {
    this.pii += counts.pii;
    this.ban_keywords += counts.ban_keywords;
  }
}

/** Redacts a text that comes in pieces. */
export interface TextRedaction {
  /** Takes the next piece; returns the part that can be released. */
  push(text: string): string;
  /** Returns the rest, at the end. What follows continues the text as far as its own state goes, such as a string in JSON. */
  finish(): string;
  /** The memory in use for held-back text. */
  readonly bytes: number;
}

/** The redaction of a text that may continue after its end. */
export interface ResumedRedaction extends TextRedaction {
  /** The text continues after its end. */
  resume(): void;
}

/**
 * Some servers end a text with each of its pieces. The client already has the end of the earlier text, so only the part of a match
 * after the border is replaced.
 */
export class ContinuedRedaction implements ResumedRedaction {
  readonly #redaction: TextRedaction;
  /** The part of the next release that the client already has. */
  #sent = "";
  /** The rest with which the text ended. */
  #rest = "";

  constructor(redaction: TextRedaction) {
    this.#redaction = redaction;
  }

  push(text: string): string {
    return this.#unsent(this.#redaction.push(text));
  }

  finish(): string {
    this.#rest = this.#redaction.finish();
    return this.#unsent(this.#rest);
  }

  resume(): void {
    this.#sent = this.#rest;
    this.#rest = "";
    this.push(this.#sent);
  }

  get bytes(): number {
    return this.#redaction.bytes + (this.#sent.length + this.#rest.length) * 2;
  }

  #unsent(released: string): string {
    let same = 0;
    while (same < released.length && same < this.#sent.length && released[same] === this.#sent[same]) same += 1;
    // where they differ a match was replaced
    this.#sent = same === released.length ? this.#sent.slice(same) : "";
    return released.slice(same);
  }
}

/**
 * Characters that JSON, and NaN and Infinity, have between strings, except numbers; any other character means that the text is
 * not JSON.
 */
const BETWEEN = /[\s{}[\],:truefalsnNIiy]/;
const IN_NUMBER = /[-+.\deE]/;
const BLANK = /\s/;
/** How a JSON text starts; a bare number, or a sentence, is redacted as plain text. */
const BEGINS_JSON = /^\s*[{["]/;
/** What JSON can write otherwise than its readers get it: escapes, and numbers of more digits than they keep, or with an exponent. */
const READ_OTHERWISE = /\\|\d(?:[eE]|[.\d]{14})/;
/** A longer number with blanks after it does not count. */
const NUMBER_MAX = 4096;
/** Work for a value, in units. */
const VALUE_UNITS = 8;
const ESCAPE = /\\(?:u[\da-fA-F]{4}|.)/g;
const ESCAPE_LENGTH = 2;
const CODE_ESCAPE_LENGTH = 6;
/** Memory for a held character of a string, and how it was written. */
const HELD_BYTES = 16;

/** The redaction of a text that clients read as it stands, or as JSON. */
export function redactEither(scan: TextScan, tally: RedactionTally): ResumedRedaction {
  const json = new ContinuedRedaction(new ArgumentsRedaction(scan, tally, true));
  const plain = new ContinuedRedaction(scan.openStream(tally));
  return {
    push: (text) => plain.push(json.push(text)),
    get bytes() {
      return json.bytes + plain.bytes;
    },
    finish: () => plain.push(json.finish()) + plain.finish(),
    resume: () => {
      json.resume();
      plain.resume();
    },
  };
}

/**
 * The redaction of JSON text: every string is decoded and redacted separately, and a matching number becomes a string. Text
 * that turns out not to be JSON is redacted as plain text from there on.
 */
export class ArgumentsRedaction implements TextRedaction {
  readonly #scan: TextScan;
  readonly #tally: RedactionTally;
  readonly #passesPlain: boolean;
  #isPlain = false;
  #begun = false;
  /** The redaction of the strings and numbers, one after another: opening one costs more than a short string. */
  #opened: RedactingStream | null = null;
  #inString = false;
  /** The part of a string that is not released, its characters as they were written, and whether something before it was replaced. */
  #held = "";
  #written: string[] = [];
  #isReplaced = false;
  /** The start of an escape. */
  #escape = "";
  /** A number, and the blanks after it. */
  #number = "";

  /** `passesPlain`: text that is not JSON is redacted elsewhere. */
  constructor(scan: TextScan, tally: RedactionTally, passesPlain = false) {
    this.#scan = scan;
    this.#tally = tally;
    this.#passesPlain = passesPlain;
  }

  get #strings(): RedactingStream {
    this.#opened ??= this.#scan.openStream(this.#tally);
    return this.#opened;
  }

  push(text: string): string {
    const out = new LongText();
    let at = 0;
    while (at < text.length) {
      if (this.#isPlain) {
        out.add(this.#inPlain(text.slice(at)));
        break;
      }
      if (!this.#inString) {
        out.add(this.#between(text.charAt(at)));
        at += 1;
        continue;
      }
      if (this.#escape !== "") {
        out.add(this.#inEscape(text.charAt(at)));
        at += 1;
        continue;
      }
      const end = endOfRun(text, at);
      out.add(this.#inText(text.slice(at, end)));
      if (end < text.length) out.add(text.charAt(end) === '"' ? this.#closeString() : this.#openEscape());
      at = end + 1;
    }
    return out.text;
  }

  get bytes(): number {
    return this.#number.length * 2 + this.#held.length * HELD_BYTES + (this.#opened?.bytes ?? 0);
  }

  finish(): string {
    const number = this.#endNumber();
    const string = this.#inString ? this.#endString() + this.#escape : "";
    this.#escape = "";
    const rest = number + string + (this.#opened?.finish() ?? "");
    // what comes behind such a text may be another one, which is JSON
    if (this.#isPlain && rest === "") [this.#isPlain, this.#begun] = [false, false];
    return rest;
  }

  /** A character outside of strings. */
  #between(character: string): string {
    if (!this.#begun) {
      if (BLANK.test(character)) return character;
      this.#begun = true;
      if (!BEGINS_JSON.test(character)) return this.#goOnPlain(character);
    }
    if (IN_NUMBER.test(character) && (this.#number !== "" || !BETWEEN.test(character))) {
      // JSON has no two numbers with only blanks between them
      if (BLANK.test(this.#number.slice(-1)) || this.#number.length > NUMBER_MAX) return this.#goOnPlain(character);
      this.#number += character;
      return "";
    }
    if (this.#number !== "" && BLANK.test(character) && this.#number.length <= NUMBER_MAX) {
      this.#number += character;
      return "";
    }
    if (!BETWEEN.test(character) && character !== '"') return this.#goOnPlain(character);
    const number = this.#endNumber();
    if (character === '"') this.#inString = true;
    return number + character;
  }

  #goOnPlain(character: string): string {
    this.#isPlain = true;
    const number = this.#number;
    this.#number = "";
    return this.#inPlain(number + character);
  }

  #inPlain(text: string): string {
    return this.#passesPlain ? text : this.#strings.push(text);
  }

  #endNumber(): string {
    const number = this.#number;
    this.#number = "";
    if (number === "") return "";
    const digits = number.trimEnd();
    // clients get its value
    for (const text of new Set([digits, String(Number(digits))])) {
      const redacted = this.#strings.push(text) + this.#strings.finish();
      if (redacted !== text) return JSON.stringify(redacted);
    }
    return number;
  }

  #openEscape(): string {
    this.#escape = "\\";
    return "";
  }

  #inEscape(character: string): string {
    this.#escape += character;
    const length = this.#escape[1] === "u" ? CODE_ESCAPE_LENGTH : ESCAPE_LENGTH;
    if (this.#escape.length < length) return "";
    const written = this.#escape;
    this.#escape = "";
    return this.#inText(decodedEscape(written), written);
  }

  #closeString(): string {
    this.#inString = false;
    return `${this.#endString()}"`;
  }

  #endString(): string {
    const rest = this.#asWritten(this.#strings.finish());
    [this.#held, this.#written, this.#isReplaced] = ["", [], false];
    return rest;
  }

  /** A piece of a string; one of several characters means what is written. */
  #inText(text: string, written = text): string {
    this.#held += text;
    this.#written.push(...(text.length === 1 ? [written] : text.split("")));
    return this.#asWritten(this.#strings.push(text));
  }

  /** Released text of a string: as it was written, as far as nothing is replaced. */
  #asWritten(released: string): string {
    this.#isReplaced ||= !this.#held.startsWith(released);
    if (this.#isReplaced) return encoded(released);
    this.#held = this.#held.slice(released.length);
    return this.#written.splice(0, released.length).join("");
  }
}

/** Whether clients that read a text as JSON get other texts than it shows. `isMarked`: they expect JSON. */
export function isReadOtherwise(text: string, isMarked = false): boolean {
  return (isMarked || BEGINS_JSON.test(text)) && READ_OTHERWISE.test(text);
}

/**
 * The texts that readers of JSON get from it: its strings and numbers. If it is not JSON (`value` undefined), the whole text with its
 * escapes undone: other readers may take it for JSON.
 */
export function* jsonTexts(json: string, value: unknown): Steps<readonly string[]> {
  if (value === undefined) return [yield* unescaped(json)];
  const texts: string[] = [];
  const open: unknown[] = [[value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const name of Array.isArray(next) ? next.keys() : Object.keys(next as object)) {
      yield VALUE_UNITS;
      const inner = (next as Readonly<Record<string | number, unknown>>)[name];
      if (typeof name === "string") texts.push(name);
      if (typeof inner === "object" && inner !== null) open.push(inner);
      else texts.push(String(inner));
    }
  }
  return texts;
}

/** JSON with its strings' characters unescaped. */
export function* unescaped(json: string): Steps<string> {
  const pieces = new LongText();
  let end = 0;
  for (const { 0: written, index } of json.matchAll(ESCAPE)) {
    yield VALUE_UNITS;
    if (end < index) pieces.add(json.slice(end, index));
    pieces.add(decodedEscape(written));
    end = index + written.length;
  }
  pieces.add(json.slice(end));
  return pieces.text;
}

/** The place of a string's next quote or escape, or the end. */
function endOfRun(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22 || unit === 0x5c) return at;
  }
  return text.length;
}

/** The character that an escape means; an unknown escape is its own text. */
function decodedEscape(given: string): string {
  try {
    return String(JSON.parse(`"${given}"`));
  } catch {
    return given;
  }
}

/** The text as written in a JSON string. */
function encoded(text: string): string {
  return text === "" ? "" : JSON.stringify(text).slice(1, -1);
}
