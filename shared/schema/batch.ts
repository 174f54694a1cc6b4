/** Files and batches: what clients of the data plane send and get, and batches on the Management API (docs/rules/batches.md). */
import * as z from "zod";
import { BATCH_ENDPOINTS } from "../catalogues/batch-endpoints.ts";
import { LIMITS } from "../catalogues/limits.ts";
import {
  isStorable,
  isStorableJson,
  KNOWN_NAME_MAX,
  NOT_STORABLE,
  oneOf,
  queryText,
  timestamp,
  uuidQuery,
} from "./common.ts";

export const FILE_PURPOSES = ["batch", "batch_output"] as const;
export type FilePurpose = (typeof FILE_PURPOSES)[number];

const BATCH_STATUSES = [
  "validating",
  "failed",
  "in_progress",
  "finalizing",
  "completed",
  "expired",
  "cancelling",
  "cancelled",
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** The fault of a batch's file. `line`: null for the file as a whole. */
const batchFaultSchema = z.object({
  code: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
  param: z.string().nullable(),
});
export type BatchFault = z.infer<typeof batchFaultSchema>;

const hasNames = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** POST /v1/batches */
export const createBatchSchema = z.object({
  input_file_id: z.string({ error: "must be the id of a file" }),
  endpoint: oneOf(BATCH_ENDPOINTS),
  completion_window: z.literal("24h", { error: "must be 24h" }),
  metadata: z
    .unknown()
    // counted before each of them is checked
    .refine((metadata) => !hasNames(metadata) || Object.keys(metadata).length <= 16, "must have at most 16 names")
    .pipe(
      z
        .record(z.string().max(64, "names have at most 64 characters"), z.string().max(512), {
          error: "must be an object of texts",
        })
        .refine(isStorableJson, NOT_STORABLE),
    )
    .nullable()
    .optional(),
  // ignored, it would promise a deletion
  output_expires_after: z.null({ error: "is not supported: delete the files of results" }).optional(),
});

/** A line of a batch's file. Other fields are ignored, as OpenAI does. */
export const batchLineSchema = z.object({
  custom_id: z
    .string({ error: "must be a text" })
    .min(1, "must not be blank")
    .max(LIMITS.batchCustomIdChars, `must be at most ${LIMITS.batchCustomIdChars} characters`)
    .refine(isStorable, NOT_STORABLE),
  method: z.literal("POST", { error: "must be POST" }),
  url: z.string({ error: "must be a path" }),
  body: z.looseObject(
    {
      model: z
        .string({ error: "must be the name of a model" })
        .min(1, "must be the name of a model")
        .max(KNOWN_NAME_MAX, `must be at most ${KNOWN_NAME_MAX} characters`)
        .refine(isStorable, NOT_STORABLE),
      stream: z.literal(false, { error: "must not be true in a batch" }).nullish(),
      background: z.literal(false, { error: "must not be true in a batch" }).nullish(),
    },
    { error: "must be an object" },
  ),
});

const when = (description: string) => timestamp.nullable().meta({ description });

/** A batch on the Management API. */
export const batchSchema = z
  .object({
    id: z.string(),
    batch_id: z.string().meta({ description: "ID on the data plane, as clients know it" }),
    tenant_id: z.string(),
    tenant_name: z.string(),
    key_id: z.string().meta({ description: "API key that its lines run as" }),
    endpoint: z.string(),
    input_filename: z
      .string()
      .nullable()
      .meta({ description: "Name of the file with its lines; null once it is deleted" }),
    output_file_id: z.string().nullable().meta({ description: "File with its 2xx answers, once it has ended" }),
    error_file_id: z.string().nullable().meta({ description: "File with its other lines, once it has ended" }),
    status: z.enum(BATCH_STATUSES),
    lines_total: z.number().int().meta({ description: "Lines of the file; 0 until it is validated" }),
    lines_completed: z.number().int(),
    lines_failed: z.number().int(),
    errors: z.array(batchFaultSchema).meta({ description: "Why the file was refused, or the first failed line" }),
    expires_at: timestamp,
    in_progress_at: when("When its lines started to run"),
    finalizing_at: when("When the last line had ended"),
    cancelling_at: when("When it was asked to stop"),
    ended_at: when("When it was completed, failed, expired or cancelled"),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Batch" });
export type Batch = z.infer<typeof batchSchema>;

/** Filters of GET /batches in addition to paging. */
export const batchFilterSchema = z.object({
  tenant_id: uuidQuery.optional(),
  status: oneOf(BATCH_STATUSES).optional(),
  key_id: uuidQuery.optional(),
  q: queryText.meta({ description: "ID of a batch, as clients know it" }).optional(),
});
