/**
 * Text from outside within an alert, escaped for the channel it leaves on (decisions §43.4): names of tenants, keys and
 * models are data there and nothing else.
 */
import { oneLine } from "../../shared/printable.ts";

/** The three characters that mean something to the chat: links, mentions and commands are made of them. */
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The chat has no escape for these: they are written as characters that look alike. */
const LOOK_ALIKE: Readonly<Record<string, string>> = { "*": "\u2217", _: "\u02cd", "~": "\u223c", "`": "\u02cb" };

/** Markup where it can begin or end; between two letters or digits, as in most names of models, it means nothing. */
const MARKUP = /`|(?<![\p{L}\p{N}])[*_~]|[*_~](?![\p{L}\p{N}])/gu;

/** Text in a message of the chat: one line without markup, links, mentions or commands. */
export function chatText(text: string): string {
  return oneLine(text)
    .replace(/[&<>]/g, (character) => ENTITIES[character] ?? "")
    .replace(MARKUP, (character) => LOOK_ALIKE[character] ?? "");
}

/** Text within the chat's `code` signs, which only a code sign or an entity can leave. */
export function chatCode(text: string): string {
  return oneLine(text).replace(/[&<>`]/g, (character) => ENTITIES[character] ?? LOOK_ALIKE[character] ?? "");
}
