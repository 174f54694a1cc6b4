/**
 * The one definition of a usage row: fields, order, zero values (docs/rules/settlement-and-rows.md#rows,
 * docs/rules/storage-layouts.md#usage-raw). Worker, Cell, Ledger, ClickHouse table and reads all use this definition. A
 * row does not change after its request is complete.
 */
import * as z from "zod";
import { ADMISSION_CLASSES, CACHE_STATUSES, REQUEST_TYPES } from "./usage-values.ts";

export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const SESSION_ID_SOURCES = ["client", "derived", "none"] as const;

export type RequestType = (typeof REQUEST_TYPES)[number];
export type AdmissionClass = (typeof ADMISSION_CLASSES)[number];
export type CacheStatus = (typeof CACHE_STATUSES)[number];
export type SessionIdSource = (typeof SESSION_ID_SOURCES)[number];

/** One row of `usage_raw`, as the Worker sends it to the analytics store. Times in ms, cost in USD. */
export const usageRowSchema = z.object({
  request_id: z.string(),
  /** Completion time, Unix epoch ms; the ClickHouse column is `ts`. */
  ts_ms: z.number().int(),
  tenant_id: z.string(),
  key_id: z.string(),
  /**
   * The model_name of a registered model, else "": never a text of the client
   * (docs/rules/settlement-and-rows.md#model-names).
   */
  model: z.string(),
  request_type: z.enum(REQUEST_TYPES),
  session_id: z.string(),
  session_id_source: z.enum(SESSION_ID_SOURCES),
  admission: z.enum(ADMISSION_CLASSES),
  cache_status: z.enum(CACHE_STATUSES),
  cell: z.string(),
  device_id: z.string(),
  weight: z.number().int(),
  status_code: z.number().int(),
  /** Status of the upstream's answer, 0 when there was no answer. */
  upstream_status: z.number().int(),
  /** The gateway's code of the error that the client got; `client_gone`: it left; "": the gateway has not failed it. */
  error_code: z.string(),
  /** Name of the endpoint that was called last; "": the model's own address, or none. */
  endpoint: z.string(),
  /** How often an upstream was called. */
  attempts: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  total_tokens: z.number().int(),
  /** The part of the input that the upstream took from its cache. */
  cached_tokens: z.number().int(),
  /** The part of the output that the model spent on reasoning. */
  reasoning_tokens: z.number().int(),
  /** Seconds of audio that were read. */
  input_seconds: z.number(),
  estimated_tokens: z.number().int(),
  queue_wait_ms: z.number().int(),
  ttft_ms: z.number().int(),
  total_ms: z.number().int(),
  /** The part of the whole time that was spent neither in the queue nor on calls of the upstream. */
  gateway_ms: z.number().int(),
  cost_usd: z.number(),
  energy_wh: z.number(),
  energy_cost_usd: z.number(),
  co2_g: z.number(),
});

export type UsageRow = z.infer<typeof usageRowSchema>;

/** Column order of `usage_raw` (with `ts` for `ts_ms`). */
export const USAGE_ROW_FIELDS = Object.keys(usageRowSchema.shape) as readonly (keyof UsageRow)[];

/** A row with every field at its zero value: nil tenant, refused, nothing used. */
export function zeroUsageRow(requestId: string, tsMs: number): UsageRow {
  return {
    request_id: requestId,
    ts_ms: tsMs,
    tenant_id: NIL_UUID,
    key_id: NIL_UUID,
    model: "",
    request_type: "other",
    session_id: "",
    session_id_source: "none",
    admission: "rejected",
    cache_status: "off",
    cell: "",
    device_id: "",
    weight: 0,
    status_code: 0,
    upstream_status: 0,
    error_code: "",
    endpoint: "",
    attempts: 0,
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: 0,
    cached_tokens: 0,
    reasoning_tokens: 0,
    input_seconds: 0,
    estimated_tokens: 0,
    queue_wait_ms: 0,
    ttft_ms: 0,
    total_ms: 0,
    gateway_ms: 0,
    cost_usd: 0,
    energy_wh: 0,
    energy_cost_usd: 0,
    co2_g: 0,
  };
}
