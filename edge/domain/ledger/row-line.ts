/**
 * A usage row as the analytics store takes it: one line of JSON in the column order of docs/rules/storage-layouts.md#usage-raw,
 * with `ts` as text in place of `ts_ms`. The Ledger keeps this line on disk, so shipping never rebuilds a row. Invariant: the
 * store can read every line.
 */
import { columnTime, storedRow, timeOfColumn, type UsageRow } from "../../../shared/usage/usage-row.ts";
import type { SpanRecord } from "../trace/trace.ts";
import type { LogLine } from "./ledger-log.ts";

export function usageRowLine(row: UsageRow): LogLine {
  const json = JSON.stringify(storedRow(row));
  return { json, bytes: utf8Length(json), refusal: row.admission === "rejected" };
}

/** A line of {@link usageRowLine} as it was made. */
export function storedRowLine(json: string, bytes: number): LogLine {
  // quotes within texts have a backslash before them
  return { json, bytes, refusal: json.includes('"admission":"rejected"') };
}

/** A span as the analytics store takes it: one line of JSON (docs/rules/storage-layouts.md#spans). */
export function spanLine(requestId: string, span: SpanRecord): string {
  const { start_ms, attributes, ...columns } = span;
  const texts = { start: columnTime(start_ms), attributes: JSON.stringify(attributes) };
  return JSON.stringify({ request_id: requestId, ...columns, ...texts });
}

/** The request of a row's line; empty if the line has none. */
export function requestIdOf(line: string): string {
  return /"request_id":"([0-9a-f-]{36})"/.exec(line)?.[1] ?? "";
}

/** When the request of a row's line ended, epoch ms; 0: the line does not say. */
export function endedMs(line: string): number {
  const text = /"ts":"([\d-]+ [\d:.]+)"/.exec(line)?.[1];
  return text === undefined ? 0 : timeOfColumn(text);
}

/** The ledger shard that a request's row goes to; the same for every retry. */
export function shardOf(requestId: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < requestId.length; at += 1) {
    hash = Math.imul(hash ^ requestId.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % shards;
}

/** Nearly every line is plain ASCII, which one quick check shows. */
const NOT_ASCII = /\P{ASCII}/u;

function utf8Length(text: string): number {
  if (!NOT_ASCII.test(text)) return text.length;
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}
