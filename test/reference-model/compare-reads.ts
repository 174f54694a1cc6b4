/** Every read of the gateway over its rows, compared with the sums of the rows that the log lists. */
import type { Gateway } from "../harness/gateway.ts";
import type { Row } from "./compare-rows.ts";
import type { Difference } from "./differences.ts";

type Figures = Readonly<Record<string, number>>;
type Groups = ReadonlyMap<string, Figures>;

const NOBODY = "00000000-0000-0000-0000-000000000000";
const BUCKET_MS = 60_000;
const USD_ROUNDING = 1e-8;
/** Sums beyond what a number holds exactly depend on their order. */
const roundingOf = (value: number): number =>
  Number.isSafeInteger(value) ? 0 : Number.isInteger(value) ? value * 1e-12 : USD_ROUNDING;

const number = (row: Row, field: string): number => Number(row[field] ?? 0);
const isSuccess = (row: Row): boolean => number(row, "status_code") < 400;
const isHit = (row: Row): boolean => row["cache_status"] === "hit";

/** The sums of rows under every name that a read has for them. */
function sums(rows: readonly Row[]): Figures {
  const of = (field: string, from = rows): number => from.reduce((total, row) => total + number(row, field), 0);
  const count = (holds: (row: Row) => boolean): number => rows.filter(holds).length;
  const [tokens, cost] = [of("total_tokens"), of("cost_usd")];
  const [hits, misses] = [count(isHit), count((row) => row["cache_status"] === "miss")];
  return {
    requests: rows.length,
    errors: count((row) => !isSuccess(row)),
    error_requests: count((row) => !isSuccess(row)),
    success_requests: count(isSuccess),
    input_tokens: of("input_tokens"),
    output_tokens: of("output_tokens"),
    estimated_tokens: of("estimated_tokens"),
    total_tokens: tokens,
    tokens,
    cost_usd: cost,
    total_cost: cost,
    cost,
    cache_hits: hits,
    hits,
    cache_misses: misses,
    misses,
    tokens_saved: of("total_tokens", rows.filter(isHit)),
    users: new Set(rows.map((row) => row["key_id"]).filter((id) => id !== NOBODY)).size,
  };
}

const groupsOf = (rows: readonly Row[], by: (row: Row) => string): Groups =>
  new Map([...Map.groupBy(rows, by)].map(([group, own]) => [group, sums(own)]));

/** The figures of an answer that differ from the expected ones of the same name. */
function wrongOf(expected: Figures, found: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(expected).flatMap(([name, value]) =>
    found[name] === undefined || Math.abs(Number(found[name]) - value) <= roundingOf(value) ? [] : [name],
  );
}

interface Read {
  readonly path: string;
  readonly rows: readonly Row[];
  /** Absent: the answer is one record. */
  readonly by?: (of: Row) => string;
  /** Where the list is in the answer. */
  readonly list?: string;
  /** Figures that this read does not count as the others. */
  readonly without?: readonly string[];
}

function readsOf(rows: readonly Row[], sinceMs: number): readonly Read[] {
  const known = rows.filter((row) => row["tenant_id"] !== NOBODY);
  const since = `since_ms=${sinceMs}`;
  const id =
    (...fields: readonly string[]) =>
    (row: Row): string =>
      fields.map((field) => String(row[field] ?? "")).join(" ");
  const bucket =
    (...fields: readonly string[]) =>
    (row: Row): string => {
      const ms = row["bucket_ms"] ?? Math.floor(number(row, "ts_ms") / BUCKET_MS) * BUCKET_MS;
      return [ms, ...fields.map((field) => row[field])].join(" ");
    };
  const day = (row: Row): string => String(row["day"] ?? new Date(number(row, "ts_ms")).toISOString().slice(0, 10));
  const where = (field: string, value: unknown): readonly Row[] => rows.filter((row) => row[field] === value);
  const busiest = [...Map.groupBy(known, id("tenant_id"))]
    .toSorted((one, two) => two[1].length - one[1].length)
    .slice(0, 3);
  const filters = [
    "tenant_id",
    "key_id",
    "model",
    "request_type",
    "error_code",
    "admission",
    "cache_status",
    "session_id",
  ].flatMap((field) => {
    const values = [...new Set(rows.map((row) => row[field]))].filter((value) => value !== "" && value !== NOBODY);
    return values.slice(0, 3).map((value) => ({
      path: `/usage/logs/totals?${since}&${field}=${encodeURIComponent(String(value))}`,
      rows: where(field, value),
    }));
  });
  return [
    { path: `/usage/logs/totals?${since}`, rows },
    { path: "/usage/logs/totals", rows },
    { path: `/usage/logs/totals?${since}&status=success`, rows: rows.filter(isSuccess) },
    { path: `/usage/logs/totals?${since}&status=error`, rows: rows.filter((row) => !isSuccess(row)) },
    ...filters,
    { path: `/usage?${since}&group_by=tenant`, rows: known, by: id("tenant_id") },
    { path: `/usage?${since}&group_by=key`, rows: known, by: id("key_id") },
    { path: `/usage?${since}&group_by=model`, rows: known, by: id("model") },
    { path: `/usage/keys?${since}`, rows: known, by: id("key_id") },
    { path: `/usage/models?${since}`, rows: known, by: id("model") },
    { path: `/usage/keys/summary?${since}`, rows: known, by: id("key_id") },
    { path: `/usage/series?${since}&bucket_ms=${BUCKET_MS}`, rows, by: bucket() },
    { path: `/usage/series/tenants?${since}&bucket_ms=${BUCKET_MS}`, rows: known, by: bucket("tenant_id") },
    { path: `/usage/series/models?${since}&bucket_ms=${BUCKET_MS}`, rows: known, by: bucket("model") },
    { path: `/usage/breakdown?${since}&limit=1000`, rows: known, by: id("model", "key_id") },
    { path: `/usage/cache?${since}`, rows: known },
    {
      path: `/usage/cache?${since}`,
      rows: known.filter((row) => row["cache_status"] !== "off"),
      by: id("model"),
      list: "by_model",
    },
    { path: `/costs?${since}`, rows: known, by: id("model") },
    { path: `/overview/summary?${since}`, rows },
    { path: "/usage/daily", rows: known, by: day },
    { path: "/usage/daily?group_by=tenant", rows: known, by: id("tenant_id") },
    { path: "/usage/daily?group_by=key", rows: known, by: id("key_id") },
    { path: "/usage/daily?group_by=model", rows: known, by: id("model") },
    { path: "/usage/daily?group_by=key_model", rows: known, by: id("key_id", "model") },
    ...busiest.flatMap(([tenant, own]) => [
      { path: `/usage/models?${since}&tenant_id=${tenant}`, rows: own, by: id("model") },
      { path: `/costs?${since}&tenant_id=${tenant}`, rows: own, by: id("model") },
      { path: `/usage/breakdown?${since}&tenant_id=${tenant}`, rows: own, by: id("model", "key_id") },
      { path: `/keys/${String(own[0]?.["key_id"])}/usage?${since}`, rows: where("key_id", own[0]?.["key_id"]) },
    ]),
  ];
}

/** A read lists at most so many groups. */
const LISTED_MAX = 1000;

async function compareRead(gateway: Gateway, { path, rows, by, list }: Read): Promise<readonly Difference[]> {
  const answer = await gateway.must<Readonly<Record<string, unknown>>>("GET", path);
  const what = `read: ${path.replace(/\?.*/, "")}`;
  if (by === undefined) {
    const wrong = wrongOf(sums(rows), answer);
    return wrong.length === 0 ? [] : [differenceOf(what, path, wrong, sums(rows), answer)];
  }
  const listed = (list === undefined ? answer : answer[list]) as unknown as readonly Row[];
  const expected = groupsOf(rows, by);
  const found = new Map(listed.map((each) => [by(each), each]));
  return [...new Set([...expected.keys(), ...found.keys()])].flatMap((group) => {
    if (!found.has(group) && listed.length === LISTED_MAX) return [];
    const [one = {}, other = {}] = [expected.get(group), found.get(group)];
    if (!expected.has(group) || !found.has(group))
      return [{ what, expected: one, found: other, more: `GET ${path}, group ${group}` }];
    const wrong = wrongOf(one, other);
    return wrong.length === 0 ? [] : [differenceOf(what, `${path}, group ${group}`, wrong, one, other)];
  });
}

function differenceOf(
  what: string,
  path: string,
  wrong: readonly string[],
  expected: Figures,
  found: Readonly<Record<string, unknown>>,
): Difference {
  const pick = (from: Readonly<Record<string, unknown>>) => Object.fromEntries(wrong.map((name) => [name, from[name]]));
  return {
    what,
    expected: pick(expected),
    found: pick(found),
    more: `GET ${path}: expected is the sum of the rows of /usage/logs`,
  };
}

export async function compareReads(
  gateway: Gateway,
  rows: readonly Row[],
  sinceMs: number,
): Promise<readonly Difference[]> {
  const differences: Difference[] = [];
  for (const read of readsOf(rows, sinceMs)) differences.push(...(await compareRead(gateway, read)));
  differences.push(...(await compareCsv(gateway, rows, sinceMs)));
  return differences;
}

/** The log as CSV has every row of the period. */
async function compareCsv(gateway: Gateway, rows: readonly Row[], sinceMs: number): Promise<readonly Difference[]> {
  const text = await (await gateway.admin("GET", `/usage/logs?since_ms=${sinceMs}&format=csv`)).text();
  const ids = new Set(text.match(/^[0-9a-f]{8}-[0-9a-f-]{27}/gm));
  const missing = rows.filter((row) => !ids.has(String(row["request_id"])));
  if (missing.length === 0 && ids.size === rows.length) return [];
  return [{ what: "read: /usage/logs as CSV", expected: rows.length, found: ids.size }];
}

/** All rows that the log lists, newest first. */
export async function readRows(gateway: Gateway, sinceMs: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let cursor = ""; ; ) {
    const page = await gateway.must<readonly Row[]>("GET", `/usage/logs?since_ms=${sinceMs}&limit=200${cursor}`);
    rows.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < 200) return rows;
    cursor = `&before_ms=${last["ts_ms"]}&before_request_id=${last["request_id"]}`;
  }
}
