/**
 * Every read of the Management API that the analytics store answers, as the console and finance request it, on a {@link
 * Fill}, over some days and over all of it. Each has a maximum number of rows that the engine may read for it, which
 * follows from the rows in the read's period: it does not depend on how much else is stored.
 */
import { type Fill, filledKey, filledModel, filledTenant } from "./ledger-fill.ts";
import { DAY_MS } from "./ledger-traffic.ts";

/** The smallest number of rows that the engine reads at once. */
const GRANULE = 8192;

/** The row that says how far single requests reach back. */
const MARK = 1;

/** How many granules a search by windows reads more than once: at the edges of windows and for the rows that it shows. */
const EDGES = 16;

/** The facts about the stored rows from which the limits follow. */
export interface Stored {
  readonly fill: Fill;
  readonly rollupRows: number;
  readonly quarterRows: number;
  readonly spanRows: number;
  /** A request in the middle of the fill. */
  readonly requestId: string;
}

export interface LedgerRead {
  readonly name: string;
  /** Under `/api/v1`. */
  readonly path: string;
  readonly budgetRows: number;
}

/** A period of whole days until the end of the fill, and how many rows each kind of read may cost in it. */
interface Asked {
  readonly name: string;
  readonly days: number;
  readonly since: string;
  /** A read of every request in the period. */
  readonly scan: number;
  /** Sums: from the rollup for whole days, from single requests for one day altogether. */
  readonly sums: number;
  /** Days of any zone, with their percentiles. */
  readonly daily: number;
  /** A page whose rows are close together, with the marks of their traces. */
  readonly page: number;
  /** A page for which every tenth to hundredth row matches: a few days with little traffic, or hours with much. */
  readonly near: number;
  /** A page whose search covers the whole period. */
  readonly search: number;
}

function asked(days: number, { fill, rollupRows, quarterRows, spanRows }: Stored): Asked {
  const perDay = fill.rows / fill.days;
  const within = (count: number): number =>
    Math.ceil(Math.min(perDay * (count + 1), perDay * count + 2 * GRANULE, fill.rows)) + MARK;
  const rolled = (stored: number): number =>
    Math.ceil(Math.min(stored, (stored / fill.days) * (days + 1) + 4 * GRANULE)) + MARK;
  const spansOf = (count: number): number => Math.ceil(Math.min(spanRows, (spanRows / fill.days) * count));
  // around a midnight a page has traces of two days, and a busy day has half as many again as the average
  const page = 3 * GRANULE + spansOf(3);
  return {
    name: days === fill.days ? "all" : `${days} d`,
    days,
    since: `since_ms=${fill.endMs - days * DAY_MS}`,
    scan: within(days),
    sums: within(1) + (days > 1 ? rolled(rollupRows) : 0),
    daily: rolled(quarterRows),
    page,
    near: Math.min(within(3), 10 * GRANULE) + page + spansOf(12),
    search: within(days) + page + 3 * spansOf(days + 4) + EDGES * GRANULE,
  };
}

/** The reads over each of these periods, in days; the last period is everything. */
export function ledgerReads(stored: Stored, someDays: readonly number[]): readonly LedgerRead[] {
  const { fill } = stored;
  const periods = [...someDays, fill.days].map((days) => asked(days, stored));
  return periods.flatMap((period) => [
    ...sums(period, fill, stored.rollupRows),
    ...scans(period),
    ...daily(period, fill),
    ...pages(period, fill, stored),
  ]);
}

function ledgerPage(stored: Stored, name: string, cursor: string): LedgerRead {
  const { since, page } = asked(stored.fill.days, stored);
  return { name, path: `/usage/logs?${since}${cursor}`, budgetRows: page };
}

const PAGE_ROWS = 50;

interface Filled {
  readonly stored: Stored;
  rows<T>(statement: string): Promise<readonly T[]>;
}

/** Page `number` of all requests, 50 rows each; 1 is the newest. Throws when there are not so many. */
export async function pageAt(control: Filled, number: number): Promise<LedgerRead> {
  const name = `usage/logs page ${number}`;
  if (number === 1) return ledgerPage(control.stored, name, "");
  const [last] = await control.rows<{ ts_ms: number; request_id: string }>(
    `SELECT toUnixTimestamp64Milli(ts) AS ts_ms, toString(r.request_id) AS request_id FROM gateway.usage_raw AS r
     WHERE request_type NOT IN ('health_probe', 'benchmark')
     ORDER BY ts DESC, toString(r.request_id) DESC LIMIT 1 OFFSET ${(number - 1) * PAGE_ROWS - 1}`,
  );
  if (last === undefined) throw new Error(`there are fewer than ${number} pages`);
  return ledgerPage(control.stored, name, `&before_ms=${last.ts_ms}&before_request_id=${last.request_id}`);
}

const tenant = `tenant_id=${filledTenant(3)}`;
const model = `model=${filledModel(3)}`;
const quiet = (fill: Fill): string => filledKey(fill, fill.tenants - 1, fill.keysEach - 1);

function sums({ name, since, sums: budget, scan }: Asked, fill: Fill, rollupRows: number): readonly LedgerRead[] {
  const read = (what: string, path: string, budgetRows = budget): LedgerRead => ({
    name: `${what}, ${name}`,
    path: `${path}${path.includes("?") ? "&" : "?"}${since}`,
    budgetRows,
  });
  // the day of a key's last request is found in the rollup, over its whole length; then one or two days of requests are
  // read
  const last = Math.ceil(Math.min(fill.rows, 3 * (fill.rows / fill.days) + 4 * GRANULE));
  return [
    read("usage by tenant", "/usage"),
    read("usage by key", "/usage?group_by=key"),
    read("usage by model", "/usage?group_by=model"),
    read("usage of a tenant by key", `/usage?group_by=key&${tenant}`),
    read("usage with internal", "/usage?include_internal=true", scan),
    read("usage/keys", "/usage/keys"),
    read("usage/keys/summary", "/usage/keys/summary", budget + rollupRows + last),
    read("usage/keys/summary of a tenant", `/usage/keys/summary?${tenant}`, budget + rollupRows + last),
    read("keys/id/usage, busy", `/keys/${filledKey(fill, 0, 0)}/usage`, budget + rollupRows + last),
    read("keys/id/usage, quiet", `/keys/${quiet(fill)}/usage`, budget + rollupRows + last),
    read("usage/logs/totals", "/usage/logs/totals"),
    read("usage/logs/totals of a tenant", `/usage/logs/totals?${tenant}`),
    read("costs", "/costs"),
    read("overview/summary", "/overview/summary"),
    read("costs of a tenant", `/costs?${tenant}`),
  ];
}

function scans({ name, since, scan }: Asked): readonly LedgerRead[] {
  // a pass over the period, and one for each facet whose own filter is set
  const facets = (what: string, query: string, passes: number): LedgerRead => ({
    name: `usage/logs/facets ${what}, ${name}`,
    path: `/usage/logs/facets?${query}${since}`,
    budgetRows: scan * passes,
  });
  const paths = {
    "usage/models": "/usage/models?",
    "usage/models of a tenant": `/usage/models?${tenant}&`,
    "usage/series": "/usage/series?bucket_ms=3600000&",
    "usage/series of a tenant": `/usage/series?bucket_ms=3600000&${tenant}&`,
    "usage/series/tenants": "/usage/series/tenants?bucket_ms=86400000&",
    "usage/series/models": "/usage/series/models?bucket_ms=21600000&",
    "usage/series/models of one": `/usage/series/models?bucket_ms=3600000&${model}&`,
    "usage/breakdown": "/usage/breakdown?",
    "usage/breakdown of a model": `/usage/breakdown?${model}&`,
    "usage/cache": "/usage/cache?",
    "usage/logs/totals of what failed": `/usage/logs/totals?status=error&${tenant}&`,
  };
  return [
    ...Object.entries(paths).map(([what, path]) => ({
      name: `${what}, ${name}`,
      path: `${path}${since}`,
      budgetRows: scan,
    })),
    facets("of all", "", 1),
    facets("of what failed of a model", `status=failed&${model}&`, 3),
  ];
}

function daily({ name, days, daily: budgetRows }: Asked, fill: Fill): readonly LedgerRead[] {
  const start = `start_day=${new Date(fill.endMs - days * DAY_MS).toISOString().slice(0, 10)}`;
  const read = (what: string, query: string): LedgerRead => ({
    name: `usage/daily ${what}, ${name}`,
    path: `/usage/daily?${query}&${start}`,
    budgetRows,
  });
  const inZone = (path: string): LedgerRead => ({
    name: `${path} of a zone, ${name}`,
    path: `/${path}?timezone=Asia/Kolkata&${start}`,
    budgetRows,
  });
  return [
    ...["usage/daily", "usage/breakdown", "costs"].map(inZone),
    read("of a zone by key and model", "timezone=Australia/Lord_Howe&group_by=key_model"),
    ...["day", "tenant", "key", "model", "key_model"].map((group) => read(`by ${group}`, `group_by=${group}`)),
    read("of a key", `key_id=${quiet(fill)}`),
  ];
}

function pages({ name, since, page, near, search }: Asked, fill: Fill, stored: Stored): readonly LedgerRead[] {
  const read = (what: string, query: string, budgetRows: number): LedgerRead => ({
    name: `usage/logs ${what}, ${name}`,
    path: `/usage/logs?${query}${query === "" ? "" : "&"}${since}`,
    budgetRows,
  });
  return [
    read("newest", "", page),
    read("of 200", "limit=200", page),
    read("answered", "status=success", page),
    read("of a busy tenant", `tenant_id=${filledTenant(0)}`, page),
    read("of a quiet key", `key_id=${quiet(fill)}`, search),
    read("of a model", model, near),
    read("of a type", "request_type=embedding", near),
    read("of a type that is not there", "request_type=image", search),
    read("of a session that is not there", "session_id=none-such", search),
    read("failed", "status=error", near),
    read("failed by a code", "error_code=upstream_failed", search),
    read("of a code that is not there", "error_code=none_such", search),
    read("that were queued", "admission=queued", near),
    read("that were slow", "min_total_ms=60000", search),
    read("that waited long", "min_queue_wait_ms=60000", search),
    read("of a cell that is not there", "cell=none-such", search),
    read("that the cache answered", "cache_status=hit", near),
    read("traced", "traced_only=true", near),
    read("traced of a quiet key", `traced_only=true&key_id=${quiet(fill)}`, search),
    read("by request id", `request_id=${stored.requestId}`, search),
    read("by its beginning", `request_id=${stored.requestId.slice(0, 8)}`, search),
  ];
}
