/**
 * The lines of a body that is neither an event stream nor a JSON document. Clients that read line by line find JSON in them,
 * also after blanks, a record separator or a field name that no event has (docs/rules/guardrails.md#failures).
 */
import type { Steps } from "../../../shared/steps.ts";
import { isUnreadJson, parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { OTHER_ENDS } from "../wire/sse/events.ts";

/** Work for a line, in units. */
const LINE_UNITS = 16;
/** The same for its characters: each pattern below may read all of them. */
const CHARACTERS_PER_UNIT = 16;
/** The same for one that only looks like JSON: the engine makes an error of it. */
const UNREAD_UNITS = 64;
/** After so many of them nothing more is taken for JSON, and the text counts as unread. */
const UNREAD_MAX = 1_024;
const LINE = /[^\r\n]*[\r\n]+|[^\r\n]+/g;
/** One that is not the end of the whole text. */
const OTHER_END = new RegExp(`[${OTHER_ENDS}][^${OTHER_ENDS}]`);
const OTHER_LINE = new RegExp(`[^${OTHER_ENDS}]*[${OTHER_ENDS}]+|[^${OTHER_ENDS}]+`, "g");
/** Blanks, and a field name; no name is longer than this. */
const LEAD = /^[\s\p{Cc}]*(?:[\w-]{0,65535}\s{0,65535}:[\s\p{Cc}]*)?/u;

/** A line that is a JSON object or list. */
export interface JsonLine {
  readonly lead: string;
  readonly json: string;
  readonly value: object;
  /** The blanks and line breaks after it. */
  readonly tail: string;
}

/** Takes the lines in their order. */
interface LineTaker {
  json(line: JsonLine): Steps<void>;
  /** `isUnread`: others may find JSON in this text, which the gateway cannot read. */
  text(text: string, isUnread: boolean): Steps<void>;
}

/**
 * Reads a text; adjacent lines that are not JSON are passed on together. Returns whether it has both kinds: then clients may
 * show the whole text unchanged.
 */
export function* readLines(text: string, taker: LineTaker): Steps<boolean> {
  let unread = 0;
  let [from, at, isUnread, hasJson, hasText] = [0, 0, false, false, false];
  const giveText = function* (): Steps<void> {
    yield (at - from) / CHARACTERS_PER_UNIT;
    const given = text.slice(from, at);
    hasText ||= given.trim() !== "";
    if (given !== "") yield* taker.text(given, isUnread || isUnreadJson(given));
  };
  const readLine = function* (line: string, isWhole: boolean): Steps<void> {
    yield LINE_UNITS + line.length / CHARACTERS_PER_UNIT;
    const rest = line.replace(LEAD, "");
    const json = rest.trimEnd();
    const isLikeJson = unread < UNREAD_MAX && /^[[{]/.test(json) && /[\]}]$/.test(json);
    const value = isLikeJson ? yield* parsedInSteps(json) : undefined;
    if (isLikeJson && value === undefined) {
      yield UNREAD_UNITS;
      if (isUnreadJson(json)) unread += 1;
    }
    if (typeof value === "object" && value !== null) {
      hasJson = true;
      yield* giveText();
      const lead = line.slice(0, line.length - rest.length);
      yield* taker.json({ lead, json, value, tail: rest.slice(json.length) });
      from = at + line.length;
      isUnread = false;
    } else {
      yield line.length / CHARACTERS_PER_UNIT;
      if (isWhole && line.search(OTHER_END) >= 0) {
        for (const [other] of line.matchAll(OTHER_LINE)) yield* readLine(other, false);
        return;
      }
      isUnread ||= unread === UNREAD_MAX || json === "[" || isUnreadJson(json);
    }
    at += line.length;
  };
  for (const [line] of text.matchAll(LINE)) yield* readLine(line, true);
  yield* giveText();
  return hasJson && hasText;
}
