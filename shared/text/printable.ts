/**
 * Makes text from outside (names, upstream messages, paths) safe for the program that shows it: a terminal, a log, a chat, a
 * mail. Characters that such a program would interpret instead of showing are replaced
 * (docs/rules/alerts.md#cooldown-and-repeats): control characters (escape sequences, line ends), the Unicode line separators,
 * which some programs treat as line ends, and the marks that reverse the direction of the text after them.
 */

const ACTED_ON = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const RUNS_ACTED_ON = new RegExp(`${ACTED_ON.source}+`, "gu");
/** These characters, without those that JSON escapes itself, and without the tab. */
const LEFT_BY_JSON = /[\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The character in JSON's escaped form: `\u001b`. */
const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One line of readable words: each run of such characters becomes a space. */
export function oneLine(text: string): string {
  return text.replace(RUNS_ACTED_ON, " ");
}

/** One line for a terminal: such characters are shown in escaped form, so that they remain visible. Tabs are kept. */
export function terminalText(text: string): string {
  return text.replace(ACTED_ON, (character) => (character === "\t" ? character : spelled(character)));
}

/** JSON text in which the characters that `JSON.stringify` does not escape are escaped too; its meaning is the same. */
export function printableJson(json: string): string {
  return json.replace(LEFT_BY_JSON, spelled);
}

/**
 * Characters that show nothing, or something other than themselves: line and paragraph ends, spaces that are no space, joiners, tags,
 * private and unassigned ones, and marks beyond the few that a letter has, which would cover the lines around it.
 */
const NOT_VISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}{4})\p{M}/gu;

/** JSON text in which every character stands for itself: all others are escaped; its meaning is the same. */
export function visibleJson(json: string): string {
  return json.replace(NOT_VISIBLE, (character) => character.split("").map(spelled).join(""));
}
