/** Redaction of complete texts: in a document, and in a body that is read as one text (docs/rules/guardrails.md#actions). */
import { REDACTED } from "../../../shared/guardrails/replacements.ts";
import type { ScannedText, ScanRoom, TextScan } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { isUnreadJson, parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import { jsonInSteps, type TakeBytes } from "../wire/json/write-in-steps.ts";
import { LongText } from "../wire/text/long-text.ts";
import { type AnswerText, answerParts, dropPieces, grouped, wholeOf } from "./answer-texts.ts";
import { unseal } from "./signed-thoughts.ts";
import {
  ArgumentsRedaction,
  isReadOtherwise,
  type RedactionTally,
  type TextRedaction,
  unescaped,
} from "./text-redaction.ts";

/** Room for every text. */
export const ALL: ScanRoom = { units: Number.POSITIVE_INFINITY };
/** Characters that are read at once: in JSON every string is a text. */
const PART = 256;
/** Work for a character, in units: the most is that of many short strings. */
const CHARACTER_UNITS = 24;
/** Work for a text beside that, in units. */
const TEXT_UNITS = 8;

/** A complete text without what matches. */
export function* redactText(
  scan: TextScan,
  tally: RedactionTally,
  { text, json }: Pick<AnswerText, "text" | "json">,
  room: ScanRoom,
): Steps<string> {
  if (!json) return yield* redactAsWritten(scan, tally, text, room);
  const redaction = new ArgumentsRedaction(scan, tally);
  const redacted = (yield* pushed(redaction, text)) + redaction.finish();
  if ((yield* parsedInSteps(redacted)) !== undefined) return redacted;
  return yield* redactLoose(scan, tally, redacted, room);
}

/** A text that is not JSON, without its matches; all of it is replaced if its escapes hide more. */
function* redactLoose(scan: TextScan, tally: RedactionTally, text: string, room: ScanRoom): Steps<string> {
  const redacted = yield* redactAsWritten(scan, tally, text, room);
  if (!redacted.includes("\\")) return redacted;
  const { counts } = yield* scan.redacting([{ text: yield* unescaped(redacted), user: false }], room);
  tally.add(counts);
  return counts.pii + counts.ban_keywords > 0 ? REDACTED : redacted;
}

function* redactAsWritten(scan: TextScan, tally: RedactionTally, text: string, room: ScanRoom): Steps<string> {
  const { texts, counts } = yield* scan.redacting([{ text, user: false }], room);
  tally.add(counts);
  return texts[0] ?? "";
}

/** A text that clients may read as JSON, without the matches that only they get. */
function* redactAsJson(scan: TextScan, tally: RedactionTally, text: string, room: ScanRoom): Steps<string> {
  return isReadOtherwise(text) ? yield* redactText(scan, tally, { text, json: true }, room) : text;
}

/** Text in a place where JSON is expected; text that only others take for JSON stays JSON for them. */
export function* redactUnmarked(scan: TextScan, tally: RedactionTally, text: string, room: ScanRoom): Steps<string> {
  const core = text.trimEnd();
  const before = tally.total;
  const redacted = isUnreadJson(core)
    ? yield* redactText(scan, tally, { text: core, json: true }, room)
    : yield* redactLoose(scan, tally, core, room);
  return tally.total === before ? text : redacted + text.slice(core.length);
}

/** JSON whose value is one text. */
export function* redactString(
  scan: TextScan,
  tally: RedactionTally,
  { json, value }: { readonly json: string; readonly value: string },
  room = ALL,
): Steps<string> {
  const redacted = yield* redactAsWritten(scan, tally, value, room);
  return redacted === value ? json : yield* jsonInSteps(redacted);
}

/** JSON whose texts do not continue elsewhere, written again if something matches. */
export function* redactJson(
  scan: TextScan,
  tally: RedactionTally,
  { json, value }: { readonly json: string; readonly value: unknown },
  take: TakeBytes,
  room = ALL,
): Steps<string> {
  const parts = yield* answerParts(value);
  const changed = [
    yield* dropPieces(parts),
    yield* redactEach(scan, tally, parts.texts, value, take, room),
    // rewritten, so each name occurs once
    yield* hasRepeatedName(json, value),
  ];
  return changed.includes(true) ? yield* jsonInSteps(value, take) : json;
}

/** The part of a text that can be released with this piece. */
export function* pushed(redaction: TextRedaction, text: string): Steps<string> {
  const released = new LongText();
  for (let at = 0; at < text.length; at += PART) {
    const part = text.slice(at, at + PART);
    released.add(redaction.push(part));
    yield part.length * CHARACTER_UNITS;
  }
  return released.text;
}

/** Redacts complete texts in their document, the parts of one as one; false: nothing matches. */
export function* redactEach(
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
  for (const parts of wholes) {
    const texts = yield* redactParts(scan, tally, parts, room);
    const kinds = yield* grouped(parts.keys(), (at) => parts[at]?.kind ?? "");
    if (kinds.length > 1) {
      const places = kinds.flat();
      const read: { readonly text: string; readonly json: boolean }[] = [];
      for (const at of places) {
        yield TEXT_UNITS;
        read.push({ text: texts[at] ?? "", json: false });
      }
      for (const [nth, text] of (yield* redactParts(scan, tally, read, room)).entries()) texts[places[nth] ?? 0] = text;
    }
    for (const [at, redacted] of texts.entries()) {
      yield TEXT_UNITS;
      const { holder, name, text, ofValue } = parts[at] as AnswerText;
      if (redacted === text) continue;
      holder[name] = (ofValue ? yield* parsedInSteps(redacted) : undefined) ?? redacted;
      // the signature would not fit, and servers refuse such a thought; a thought without one is left out
      if (name === "thinking" && typeof holder["signature"] === "string") holder["signature"] = "";
      unseal(document, parts[at] as AnswerText);
      changed = true;
    }
  }
  return changed;
}

function* redactParts(
  scan: TextScan,
  tally: RedactionTally,
  parts: readonly Pick<AnswerText, "text" | "json">[],
  room: ScanRoom,
): Steps<string[]> {
  const [first] = parts;
  if (first?.json === true) return [yield* redactText(scan, tally, first, room)];
  let read: ScannedText[] = [];
  const joined = new LongText();
  for (const { text } of parts) {
    yield TEXT_UNITS;
    const one = yield* redactAsJson(scan, tally, text, room);
    read.push({ text: one, user: false });
    joined.add(one);
  }
  // some clients join the parts first
  const whole = joined.text;
  const redacted = yield* redactAsJson(scan, tally, whole, room);
  if (redacted !== whole) read = read.map(({ user }, at) => ({ text: at === 0 ? redacted : "", user }));
  const { texts, counts } = yield* scan.redacting(read, room);
  tally.add(counts);
  return [...texts];
}
