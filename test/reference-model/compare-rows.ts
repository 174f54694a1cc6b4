/** Compares the ledger's rows with the calls, one by one, and the answers of clients with what the upstream served. */

import { errorCodeOf, type Owed, owedOf, sessionOf, type Want, type WantedRow } from "./calculator.ts";
import { NO_CALL } from "./client.ts";
import type { Difference } from "./differences.ts";
import { type Done, requestIdOf } from "./facts.ts";
import { estimateOf } from "./tokens.ts";
import { withheld } from "./wire.ts";

export type Row = Readonly<Record<string, string | number | boolean>>;

/** The kind of a difference: a call owes a row that is not there. */
export const MISSING = "row: missing";

const USD_ROUNDING = 1e-9;

function isRight(want: Want, found: unknown): boolean {
  if (Array.isArray(want)) return want.some((each: string | number) => isRight(each, found));
  if (typeof want === "object" && "min" in want) return Number(found) >= want.min && Number(found) <= want.max;
  if (typeof want === "number") return Math.abs(Number(found) - want) <= (Number.isInteger(want) ? 0 : USD_ROUNDING);
  return want === found;
}

const wrongFields = (want: WantedRow, row: Row): readonly string[] =>
  Object.entries(want).flatMap(([field, value]) => (isRight(value, row[field]) ? [] : [field]));

/** The fields that are wrong, of the wanted row that is nearest. */
function nearest(
  options: readonly WantedRow[],
  row: Row,
): { readonly want: WantedRow; readonly wrong: readonly string[] } {
  const all = options.map((want) => ({ want, wrong: wrongFields(want, row) }));
  return all.toSorted((one, two) => one.wrong.length - two.wrong.length)[0] ?? { want: {}, wrong: ["row"] };
}

/** Fields that belong together in any row. */
function odd(row: Row): readonly string[] {
  const number = (field: string): number => Number(row[field]);
  return [
    ...(number("input_tokens") + number("output_tokens") === number("total_tokens")
      ? []
      : ["total is not input + output"]),
    ...(row["admission"] === "fast" && number("queue_wait_ms") > 0 ? ["fast, and waited"] : []),
    ...(number("queue_wait_ms") + number("ttft_ms") <= number("total_ms")
      ? []
      : ["parts of the time exceed the whole"]),
  ];
}

export interface Matched {
  /** Null: it has none. */
  readonly row: Row | null;
  readonly done: Done;
  /** What budgets owe for it; of a lost request what its row says. */
  readonly tokens: number;
  readonly costUsd: number;
}

export interface RowsFound {
  readonly matched: readonly Matched[];
  readonly differences: readonly Difference[];
}

/** Gives each call its row: by the id that its client got, else by its session, else a row of a client that left and gave none. */
function matchRows(calls: readonly Done[], rows: readonly Row[]) {
  const byId = Map.groupBy(rows, (row) => String(row["request_id"]));
  const bySession = Map.groupBy(rows, (row) => String(row["session_id"]));
  const taken = new Set<Row>();
  const take = (found: readonly Row[] | undefined, holds: (row: Row) => boolean = () => true): Row | null => {
    const row = found?.find((each) => !taken.has(each) && holds(each)) ?? null;
    if (row !== null) taken.add(row);
    return row;
  };
  const first = calls.map((done) => {
    const id = requestIdOf(done);
    return { done, row: id === "" ? take(bySession.get(sessionOf(done.call))) : take(byId.get(id)) };
  });
  const matched = first.map(({ done, row }) => ({
    done,
    row: row ?? (requestIdOf(done) === "" ? take(bySession.get(""), (each) => isNear(each, done)) : null),
  }));
  return { matched, left: rows.filter((row) => !taken.has(row)) };
}

const isNear = (row: Row, { call, got }: Done): boolean =>
  row["key_id"] === call.key?.id && row["status_code"] === 499 && Number(row["ts_ms"]) >= got.startMs;

export function compareRows(calls: readonly Done[], rows: readonly Row[]): RowsFound {
  const { matched, left } = matchRows(calls, rows);
  const stored = Map.groupBy(
    calls.filter(
      ({ got, served }) => got.status === 200 && got.headers["x-gateway-cache"] === "miss" && served.length > 0,
    ),
    bodyKey,
  );
  const owed = matched.map(({ row, done }) => ({ row, done, owed: owedOf(done, stored.get(bodyKey(done)) ?? []) }));
  const differences = owed.flatMap((each) => ofCall(each.done, each.row, each.owed));
  const extra = left
    .filter((row) => row["session_id"] !== NO_CALL)
    .map((row) => ({
      what: "row: nobody made this call, or it has another row",
      expected: null,
      found: row,
    }));
  return {
    matched: owed.map((each) => ({ row: each.row, done: each.done, ...chargeOf(each.done, each.row, each.owed) })),
    differences: [...differences, ...extra],
  };
}

function chargeOf(done: Done, row: Row | null, owed: Owed): { readonly tokens: number; readonly costUsd: number } {
  const wanted =
    row === null
      ? owed.rows === "one" && !done.isDisturbed
        ? owed.options[0]
        : undefined
      : nearest(owed.options, row).want;
  const right = done.isDisturbed ? (row ?? {}) : (wanted ?? {});
  if (right["cache_status"] === "hit") return { tokens: 0, costUsd: 0 };
  return { tokens: Number(right["total_tokens"] ?? 0), costUsd: Number(right["cost_usd"] ?? 0) };
}

const bodyKey = ({ call }: Done): string => `${call.key?.tenant.id} ${call.path} ${call.body.toString()}`;

function ofCall(done: Done, row: Row | null, owed: Owed): readonly Difference[] {
  const { isDisturbed } = done;
  if (row === null) {
    if (owed.rows !== "one" || isDisturbed) return [];
    return [{ what: MISSING, expected: owed.options[0], found: null, done }];
  }
  // A client that leaves early has a row wherever it was going.
  if (owed.rows === "none" && done.got.left) return [];
  if (owed.rows === "none") return [{ what: "row: there must be none", expected: null, found: row, done }];
  const { want, wrong: all } = nearest(owed.options, row);
  const wrong = all.filter((field) => !(field === "attempts" && done.isNearFault));
  if (isDisturbed && (wrong.length === 0 || isLostRow(done, row))) return [];
  const oddities = odd(row).map((what) => ({ what: `row: ${what}`, expected: "", found: row, done }));
  if (wrong.length === 0) return oddities;
  const pick = (from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(wrong.map((field) => [field, from[field]]));
  return [
    ...oddities,
    {
      what: `row: ${wrong.join(", ")}`,
      expected: pick(want),
      found: pick(row),
      done,
      more: `row: ${JSON.stringify(row)}`,
    },
  ];
}

/**
 * A request that was lost with its process: at the estimate, with nothing, or when its hit was recorded and not sent yet; or one that
 * was refused while a part was away.
 */
function isLostRow({ call, got }: Done, row: Row): boolean {
  const status = Number(row["status_code"]);
  if (row["cache_status"] === "hit" && row["admission"] === "fast") return got.status === null;
  if (status >= 500 || row["admission"] === "rejected")
    return row["total_tokens"] === 0 && (got.status === null || got.status === status);
  const isEstimate = row["input_tokens"] === estimateOf(call).input;
  return status === 499 && (row["total_tokens"] === 0 || isEstimate);
}

/** Whether clients got what the upstream served, and the refusals that they had to get. */
export function compareAnswers(calls: readonly Done[]): readonly Difference[] {
  return calls.flatMap((done): readonly Difference[] => {
    const { call, got, served, isDisturbed } = done;
    const last = served.at(-1);
    if (isDisturbed || got.left) return [];
    if (!got.whole && last?.plan.end !== "break")
      return [{ what: "answer: cut off", expected: "whole", found: got.status, done }];
    if (got.headers["x-gateway-request-id"] === undefined)
      return [{ what: "answer: no request id", expected: "an id", found: null, done }];
    if (errorCodeOf(done) !== "" || last === undefined) return [];
    const asked =
      (call.fields?.["stream_options"] as { readonly include_usage?: boolean } | undefined)?.include_usage === true;
    const due = call.stream && !asked ? withheld(last.text) : last.text;
    // half an event ends with a comment, so that no client reads it as a whole one
    const [text = ""] = got.text.split(/\n: cut off\n\n|event: error\n|data: \{"error"/);
    // a busy machine may not answer within the time that the model is given
    const isTimed = call.model?.config.now.request_timeout_secs !== null && text !== got.text;
    // between the last event and that of the error there may be empty lines
    const isSame = isTimed ? due.startsWith(text.trimEnd()) : text.trimEnd() === due.trimEnd();
    return isSame ? [] : [{ what: "answer: not the upstream's bytes", expected: due, found: got.text, done }];
  });
}
