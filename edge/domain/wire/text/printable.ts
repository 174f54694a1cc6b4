/**
 * Makes texts of a client safe to show: cuts them without leaving half a character, and escapes characters that a terminal
 * or a log viewer would act upon.
 */

/** Control, format, surrogate, private-use and unassigned characters, and the separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The first `max` UTF-16 units of a text, without half a character at the cut. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** The start of a text ({@link cutText}); each unprintable character is written as `\u{hex}`. */
export function printable(text: string, max: number): string {
  return cutText(text, max).replace(UNPRINTABLE, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}
