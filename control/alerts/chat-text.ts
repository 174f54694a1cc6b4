/**
 * Escapes text from outside in an alert for the channel that the alert is sent on
 * (docs/rules/alerts.md#cooldown-and-repeats): names of tenants, keys and models are data there and nothing else.
 */
import { oneLine } from "../../shared/text/printable.ts";

/** The three characters that have a meaning in the chat: links, mentions and commands are made of them. */
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The chat has no escape for these characters: they are replaced by characters that look alike. */
const LOOK_ALIKE: Readonly<Record<string, string>> = {
  "*": "\u2217",
  _: "\u02cd",
  "~": "\u223c",
  "`": "\u02cb",
  "]": "\uff3d",
  "@": "\uff20",
};

/**
 * Characters of markup where markup can begin or end. Between two letters or digits, as in most names of models, they mean
 * nothing.
 */
const MARKUP = /`|\](?=\()|(?<![\p{L}\p{N}])[*_~@]|[*_~](?![\p{L}\p{N}])/gu;

/**
 * Text in which no program finds an address to make a link of: what a name says must not lead people elsewhere under the
 * gateway's title.
 */
export function withoutLinks(text: string): string {
  return oneLine(text)
    .replace(/:(?=\/\/)/g, "\u2236")
    .replace(/(?<=www)\.|\.(?=\p{L}{2})/giu, "\u2024");
}

/** Text in a message of the chat: one line without markup, links, mentions or commands. */
export function chatText(text: string): string {
  return withoutLinks(text)
    .replace(/[&<>]/g, (character) => ENTITIES[character] ?? "")
    .replace(MARKUP, (character) => LOOK_ALIKE[character] ?? "");
}

/** Text inside the chat's `code` marks, which only a code mark or an entity could end. */
export function chatCode(text: string): string {
  return oneLine(text).replace(/[&<>`]/g, (character) => ENTITIES[character] ?? LOOK_ALIKE[character] ?? "");
}
