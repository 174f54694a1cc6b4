/**
 * Text from outside (names, upstream messages, paths) where somebody reads it: a terminal, a log, a chat, a mail. Characters
 * that such a reader acts upon instead of showing them do not get there (decisions §43.4): control characters (escape
 * sequences, line ends), the Unicode line separators, at which readers of lines split, and the marks that reverse the
 * direction of what follows.
 */

const ACTED_ON = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const RUNS_ACTED_ON = new RegExp(`${ACTED_ON.source}+`, "gu");
/** The same but for what JSON escapes by itself, and for a tab. */
const LEFT_BY_JSON = /[\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The character as JSON spells it: `\u001b`. */
const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One line for a reader who wants the words: each run of such characters is a space. */
export function oneLine(text: string): string {
  return text.replace(RUNS_ACTED_ON, " ");
}

/** One line for a terminal: such characters are spelled out, so that it shows that they are there. Tabs stay. */
export function terminalText(text: string): string {
  return text.replace(ACTED_ON, (character) => (character === "\t" ? character : spelled(character)));
}

/** A text of JSON with what `JSON.stringify` leaves as it is spelled out; it means the same. */
export function printableJson(json: string): string {
  return json.replace(LEFT_BY_JSON, spelled);
}
