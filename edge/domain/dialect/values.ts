/** Reads values of documents that others wrote: each gets its expected type, or an empty value. */
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";

/** The memory of a character. */
export const CHARACTER_BYTES = 2;
/** Work for a message, a part of one or a tool, in units. */
export const ITEM_UNITS = 32;

const NOTHING: JsonObject = {};

export function objectOf(value: unknown): JsonObject {
  return jsonObjectOf(value) ?? NOTHING;
}

export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A number of tokens; undefined if the value cannot be one. */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** The members that have a value. */
export function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

/** What `table` says of a text; undefined for any other. */
export function listed<T>(table: Readonly<Record<string, T>>, value: unknown): T | undefined {
  return typeof value === "string" && Object.hasOwn(table, value) ? table[value] : undefined;
}

/** The type and the data of a `data:` URL in base64. */
export function dataUrl(url: string): { readonly mediaType: string; readonly data: string } | null {
  const head = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/i.exec(url.slice(0, 256));
  return head === null ? null : { mediaType: head[1] ?? "", data: url.slice(head[0].length) };
}
