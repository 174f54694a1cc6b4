/**
 * The one description of a usage row (docs/rules/settlement-and-rows.md#rows), a line for each field. The schema, the
 * zero row, the columns of `usage_raw`, the answers of GET /usage/logs, what a tenant's users see in the console, and
 * docs/reference/usage-row.md follow from it. A row does not change after its request is complete.
 */
import * as z from "zod";
import { ADMISSION_CLASSES, CACHE_STATUSES, REQUEST_TYPES, SESSION_ID_SOURCES } from "./usage-values.ts";

export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

export type RequestType = (typeof REQUEST_TYPES)[number];
export type AdmissionClass = (typeof ADMISSION_CLASSES)[number];
export type CacheStatus = (typeof CACHE_STATUSES)[number];
export type SessionIdSource = (typeof SESSION_ID_SOURCES)[number];

interface RowField {
  readonly value: z.ZodType<string | number>;
  /** Its value until the request says more. */
  readonly zero: string | number;
  /** Type and codec of its column. */
  readonly column: string;
  /** The first version's tables lack the column. They get it at the next start; older rows have its zero, `""` or 0. */
  readonly added?: true;
  /** Whether the people of a tenant see it in the rows of their tenant; administrators see every field. */
  readonly user: boolean;
  /** What it says; Markdown. */
  readonly about: string;
}

const id = { value: z.string(), zero: NIL_UUID, column: "UUID CODEC(ZSTD(1))" } as const;
const name = { value: z.string(), zero: "", column: "LowCardinality(String)" } as const;
const text = { value: z.string(), zero: "", column: "String CODEC(ZSTD(3))" } as const;
const oneOf = <const V extends readonly string[]>(values: V, zero: V[number]) =>
  ({ value: z.enum(values), zero, column: "LowCardinality(String)" }) as const;
const whole = (bits: 16 | 32 | 64) =>
  ({ value: z.number().int(), zero: 0, column: `UInt${bits} CODEC(T64, ZSTD(1))` }) as const;
const tokens = whole(64);
const ms = whole(32);
const amount = { value: z.number(), zero: 0, column: "Float64 CODEC(Gorilla, ZSTD(1))" } as const;
const time = { value: z.number().int(), zero: 0, column: "DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1))" } as const;

/** In the order of the columns. */
export const USAGE_ROW_FIELDS = {
  request_id: { ...id, column: "UUID", user: true, about: "Same as the header `x-gateway-request-id`" },
  ts_ms: { ...time, user: true, about: "When the request completed, Unix epoch in ms; the column is `ts`" },
  tenant_id: { ...id, user: true, about: "Tenant of the caller; nil UUID: unknown" },
  key_id: { ...id, user: true, about: "API key of the caller; nil UUID: unknown" },
  model: { ...name, user: true, about: "Name of a registered model, otherwise empty; never text from the client" },
  served_model: {
    ...name,
    added: true,
    user: true,
    about: "Model whose upstream was called last; differs from `model` after a fallback; empty: no call",
  },
  upstream_model: { ...name, added: true, user: false, about: "Its name at the upstream" },
  request_type: {
    ...oneOf(REQUEST_TYPES, "other"),
    user: true,
    about: "Kind of request by its path, or the purpose of a sub-call",
  },
  session_id: { ...text, user: true, about: "Groups the requests of one conversation" },
  session_id_source: { ...oneOf(SESSION_ID_SOURCES, "none"), user: true, about: "Where `session_id` comes from" },
  admission: {
    ...oneOf(ADMISSION_CLASSES, "rejected"),
    user: true,
    about: "How the request got its slot; `boon`: a sub-call; `batch`: a line of a batch",
  },
  cache_status: {
    ...oneOf(CACHE_STATUSES, "off"),
    user: true,
    about: "Result in the response cache; `off`: not looked up",
  },
  cell: { ...name, user: false, about: "Cell that served the request" },
  device_id: { ...text, user: true, about: "Device named by the caller's identity token" },
  tags: {
    ...text,
    added: true,
    user: true,
    about: "Tags of the header `x-gateway-tags`: `a=b,c=d`, in the order of names",
  },
  end_user: { ...text, added: true, user: true, about: "End user whom the client names" },
  weight: { ...whole(32), user: false, about: "Weight of the tenant at the time of the request" },
  status_code: { ...whole(16), user: true, about: "HTTP status that the client got; 499: it disconnected" },
  upstream_status: { ...whole(16), user: false, about: "HTTP status of the upstream's response; 0: no response" },
  error_code: { ...name, added: true, user: true, about: "Code of the error that the client got" },
  endpoint: {
    ...name,
    added: true,
    user: false,
    about: "Endpoint called last; empty: the model's own base URL, or no call",
  },
  attempts: { ...whole(16), added: true, user: false, about: "Number of calls to an upstream" },
  input_tokens: { ...tokens, user: true, about: "Input tokens billed" },
  output_tokens: { ...tokens, user: true, about: "Output tokens billed" },
  total_tokens: { ...tokens, user: true, about: "All tokens billed" },
  cached_tokens: { ...tokens, added: true, user: true, about: "Input tokens found in the upstream's cache" },
  cache_write_tokens: { ...tokens, added: true, user: true, about: "Input tokens put into the upstream's cache" },
  audio_input_tokens: { ...tokens, added: true, user: true, about: "Input tokens of audio" },
  image_input_tokens: { ...tokens, added: true, user: true, about: "Input tokens of images" },
  reasoning_tokens: { ...tokens, added: true, user: true, about: "Output tokens spent on reasoning" },
  audio_output_tokens: { ...tokens, added: true, user: true, about: "Output tokens of audio" },
  image_output_tokens: { ...tokens, added: true, user: true, about: "Output tokens of images" },
  input_seconds: { ...amount, added: true, user: true, about: "Duration of the audio input, in seconds" },
  estimated_tokens: { ...tokens, user: false, about: "Tokens estimated before the call; 0: not estimated" },
  queue_wait_ms: { ...ms, user: true, about: "Time spent waiting for a slot" },
  ttft_ms: { ...ms, user: true, about: "Time from sending the successful attempt to its first byte" },
  total_ms: { ...ms, user: true, about: "Time from arrival to the last byte sent, queue included" },
  gateway_ms: { ...ms, added: true, user: true, about: "`total_ms` without the queue and the upstream calls" },
  cost_usd: { ...amount, user: true, about: "Cost at the prices of the time" },
  energy_wh: { ...amount, user: true, about: "Energy used after the queue" },
  energy_cost_usd: { ...amount, user: false, about: "What the operator pays for this energy" },
  co2_g: { ...amount, user: true, about: "CO2 emissions of this energy" },
} as const satisfies Readonly<Record<string, RowField>>;

type RowFields = typeof USAGE_ROW_FIELDS;

const FIELDS: readonly (readonly [name: string, field: RowField])[] = Object.entries(USAGE_ROW_FIELDS);

const each = <Part extends "value" | "zero">(part: Part) =>
  Object.fromEntries(FIELDS.map(([field, parts]) => [field, parts[part]])) as {
    -readonly [Name in keyof RowFields]: RowFields[Name][Part];
  };

/** One row, as the Worker hands it on and as the analytics store has it. */
export const usageRowSchema = z.object(each("value"));

export type UsageRow = z.infer<typeof usageRowSchema>;

const ZERO: UsageRow = each("zero");

/** A field that the people of a tenant do not see. */
export type OperatorField = {
  [Name in keyof RowFields]: RowFields[Name]["user"] extends true ? never : Name;
}[keyof RowFields];

/** The fields that the people of a tenant see, in their order. */
export const ROW_FIELDS_FOR_USERS = FIELDS.flatMap(([field, { user }]) =>
  user ? [field as Exclude<keyof UsageRow, OperatorField>] : [],
);

/** The columns of `usage_raw` in their order; `ts` is `ts_ms` as a time. */
export const USAGE_COLUMNS = FIELDS.map(([field, { column, added = false }]) => ({
  field: field as keyof UsageRow,
  name: field === "ts_ms" ? "ts" : field,
  type: column,
  added,
}));

/** A row as the analytics store takes it: its columns in their order. A row of an older Worker lacks newer fields. */
export function storedRow(given: UsageRow): Readonly<Record<string, string | number>> {
  const row = { ...ZERO, ...given };
  const stored: Record<string, string | number> = {};
  for (const { field, name } of USAGE_COLUMNS)
    stored[name] = field === "ts_ms" ? columnTime(row.ts_ms) : readable(row[field]);
  return stored;
}

/** A time as columns of times read it: `YYYY-MM-DD HH:MM:SS.mmm` in UTC. */
export const columnTime = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 23).replace("T", " ");

/** The time of such a text, epoch ms. */
export const timeOfColumn = (text: string): number => Date.parse(`${text.replace(" ", "T")}Z`);

/** The store reads no half of a surrogate pair, and JSON no NaN or Infinity: both are replaced. */
function readable(value: string | number): string | number {
  if (typeof value === "string") return value.toWellFormed();
  return Number.isFinite(value) ? value : 0;
}

/** A row with every field at its zero value: nil tenant, refused, nothing used. */
export function zeroUsageRow(requestId: string, tsMs: number): UsageRow {
  return { ...ZERO, request_id: requestId, ts_ms: tsMs };
}
