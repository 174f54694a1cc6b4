/**
 * A large amount of traffic for the analytics store, made inside the store: days of rows, spread over tenants, keys and
 * models as real traffic is (a few are busy, most are quiet). Everything follows from hashes of the row's number, so the
 * same fill always makes the same rows. The rollup is filled by its view, so raw rows and rollup agree as in production.
 */
export interface Fill {
  readonly rows: number;
  /** How many days before `endMs`, the last day included; the rows are spread over them evenly. */
  readonly days: number;
  readonly tenants: number;
  readonly keysEach: number;
  readonly models: number;
  /** When the last row ended, in epoch ms. */
  readonly endMs: number;
}

const DAY_MS = 86_400_000;
const DAYS_AT_ONCE = 6;
/** One request in this many is traced, with {@link SPANS} spans. */
const TRACED_EVERY = 100;
const SPANS = ["proxy_request", "auth_resolve", "admission", "cache_lookup", "upstream"] as const;

const idText = (first: string, expression: string): string =>
  `toUUID(concat('${first}-0000-4000-8000-', leftPad(lower(hex(toUInt64(${expression}))), 12, '0')))`;
const idOf = (first: string, n: number): string => `${first}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

/** The tenant by its rank; 0 is the busiest. */
export const filledTenant = (n: number): string => idOf("7e4a7000", n);
/** The key `n` of a tenant; 0 is the busiest. */
export const filledKey = (fill: Fill, tenant: number, n: number): string =>
  idOf("5ec4e700", tenant * fill.keysEach + n);
export const filledModel = (n: number): string => `model-${n}`;

/** The statements that fill `db`, each for some days; run them in order, each once. */
export function fillStatements(db: string, fill: Fill): readonly string[] {
  const startMs = fill.endMs - fill.days * DAY_MS;
  const stretches: Stretch[] = [];
  for (let day = 0; day < fill.days; day += DAYS_AT_ONCE) {
    const end = Math.min(day + DAYS_AT_ONCE, fill.days);
    const first = Math.floor((fill.rows * day) / fill.days);
    const rows = Math.floor((fill.rows * end) / fill.days) - first;
    stretches.push({ first, rows, fromMs: startMs + day * DAY_MS, ms: (end - day) * DAY_MS });
  }
  return stretches.flatMap((stretch) => [rowsStatement(db, fill, stretch), spansStatement(db, stretch)]);
}

interface Stretch {
  /** The number of its first row. */
  readonly first: number;
  readonly rows: number;
  readonly fromMs: number;
  readonly ms: number;
}

/** A fraction from 0 to 1 that depends on row `n`; each salt gives another. */
const share = (salt: number): string => `(cityHash64(n, ${salt}) % 1000000) / 1000000`;
/** The id of the row, a UUID of version 4 as the gateway's are. */
const REQUEST_ID = `reinterpret(concat(
    reinterpretAsFixedString(bitOr(bitAnd(cityHash64(n, 90), 0xFFFFFFFFFFFF0FFF), 0x4000)),
    reinterpretAsFixedString(bitOr(bitAnd(cityHash64(n, 91), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))), 'UUID')`;
const endedAt = ({ first, rows, fromMs, ms }: Stretch): string =>
  `fromUnixTimestamp64Milli(toInt64(${fromMs} + intDiv((n - ${first} + 1) * ${ms}, ${rows})), 'UTC')`;

function rowsStatement(db: string, fill: Fill, stretch: Stretch): string {
  return `INSERT INTO ${db}.usage_raw
    SELECT
      ${REQUEST_ID} AS request_id,
      ${endedAt(stretch)} AS ts,
      if(nobody, toUUID('00000000-0000-0000-0000-000000000000'), ${idText("7e4a7000", "tenant")}) AS tenant_id,
      if(nobody, toUUID('00000000-0000-0000-0000-000000000000'), ${idText("5ec4e700", `tenant * ${fill.keysEach} + key`)}) AS key_id,
      if(refused, '', concat('model-', toString(model_number))) AS model,
      if(ok, model, '') AS served_model,
      served_model AS upstream_model,
      multiIf(kind < 0.01, 'health_probe', kind < 0.015, 'benchmark', kind < 0.03, 'tool_loop', kind < 0.15, 'embedding',
        kind < 0.2, 'completion', 'chat') AS request_type,
      if(${share(5)} < 0.3, concat('session-', toString(cityHash64(tenant, intDiv(n, 2000)) % 100000)), '') AS session_id,
      if(session_id = '', 'none', 'client') AS session_id_source,
      multiIf(refused OR status_code = 429, 'rejected', request_type = 'tool_loop', 'boon', ${share(6)} < 0.1, 'queued', 'fast') AS admission,
      multiIf(NOT ok OR request_type != 'chat', 'off', ${share(7)} < 0.1, 'hit', ${share(7)} < 0.4, 'miss', 'off') AS cache_status,
      if(${share(8)} < 0.5, 'eu', 'us') AS cell,
      '' AS device_id,
      if(${share(17)} < 0.5, concat('env=prod,team=team-', toString(tenant % 7)), '') AS tags,
      if(${share(18)} < 0.5, concat('user-', toString(cityHash64(n) % 5000)), '') AS end_user,
      toUInt32(1 + tenant % 8) AS weight,
      multiIf(refused, 401, state < 0.95, 200, state < 0.97, 429, state < 0.98, 499, state < 0.99, 502, 400)::UInt16 AS status_code,
      if(ok, 200, 0)::UInt16 AS upstream_status,
      multiIf(refused, 'invalid_api_key', status_code = 429, 'rate_limit_exceeded', status_code = 499, 'client_gone',
        status_code = 502, 'upstream_failed', '') AS error_code,
      if(ok AND ${share(14)} < 0.1, 'second', '') AS endpoint,
      toUInt16(if(ok, 1 + (${share(14)} < 0.02), 0)) AS attempts,
      toUInt64(if(ok, 20 + pow(${share(9)}, 4) * 8000, 0)) AS input_tokens,
      toUInt64(if(ok AND request_type != 'embedding', 1 + pow(${share(10)}, 3) * 2000, 0)) AS output_tokens,
      input_tokens + output_tokens AS total_tokens,
      toUInt64(if(${share(15)} < 0.3, input_tokens / 2, 0)) AS cached_tokens,
      toUInt64(cached_tokens / 10) AS cache_write_tokens,
      toUInt64(0) AS audio_input_tokens,
      toUInt64(0) AS image_input_tokens,
      toUInt64(if(${share(15)} > 0.8, output_tokens / 4, 0)) AS reasoning_tokens,
      toUInt64(0) AS audio_output_tokens,
      toUInt64(0) AS image_output_tokens,
      toFloat64(0) AS input_seconds,
      toUInt64(input_tokens * 1.1 + 256) AS estimated_tokens,
      toUInt32(if(admission = 'queued', pow(${share(11)}, 3) * 5000, 0)) AS queue_wait_ms,
      toUInt32(if(ok, 20 + pow(${share(12)}, 3) * 2000, 0)) AS ttft_ms,
      toUInt32(if(ok, queue_wait_ms + ttft_ms + output_tokens * (5 + model_number), 3)) AS total_ms,
      toUInt32(if(ok, 3 + pow(${share(16)}, 6) * 40, 3)) AS gateway_ms,
      if(ok, input_tokens * 0.000001 * (1 + model_number) + output_tokens * 0.000004 * (1 + model_number), 0) AS cost_usd,
      if(ok, total_tokens * 0.0003, 0) AS energy_wh,
      energy_wh * 0.0003 AS energy_cost_usd,
      energy_wh * 0.4 AS co2_g
    FROM (
      SELECT n, kind, state, kind >= 0.015 AND refused_share < 0.005 AS refused, refused OR kind < 0.01 AS nobody,
        NOT refused AND state < 0.95 AS ok, tenant, key, model_number
      FROM (
        SELECT number AS n, ${share(0)} AS kind, ${share(1)} AS state, ${share(13)} AS refused_share,
          toUInt64(pow(${share(2)}, 3) * ${fill.tenants}) AS tenant,
          toUInt64(pow(${share(3)}, 2) * ${fill.keysEach}) AS key,
          toUInt64(pow(cityHash64(tenant, key, n % 3) % 1000000 / 1000000, 2) * ${fill.models}) AS model_number
        FROM numbers(${stretch.first}, ${stretch.rows})
      )
    )`;
}

function spansStatement(db: string, stretch: Stretch): string {
  const names = SPANS.map((name) => `'${name}'`).join(", ");
  return `INSERT INTO ${db}.spans
    SELECT ${REQUEST_ID} AS request_id, span AS span_name, if(span = 'proxy_request', '', 'proxy_request') AS parent_span,
      ${endedAt(stretch)} - INTERVAL 900 MILLISECOND AS start, 1 + ${share(20)} * 800 AS duration_ms, 'ok' AS status,
      '{"model":"model-1","status":200}' AS attributes
    FROM (SELECT number AS n, arrayJoin([${names}]) AS span FROM numbers(${stretch.first}, ${stretch.rows}) WHERE number % ${TRACED_EVERY} = 0)`;
}
