/**
 * The fields of a managed model: what the provisioner keeps running for it (docs/rules/managed-models.md#spec-fields).
 */
import * as z from "zod";
import { TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

const text = { column: "text", value: z.string() } as const;
const optionalText = { column: "text", value: z.string().nullable() } as const;
const count = { column: "integer", value: z.number().int() } as const;
const optionalCount = { column: "integer", value: z.number().int().nullable() } as const;

export const MANAGED_MODEL_FIELDS = {
  model_id: { column: "uuid", value: z.string(), unique: true },
  enabled: { column: "boolean", value: z.boolean() },
  partition: text,
  gres: text,
  nodes: count,
  constraints: optionalText,
  exclude: optionalText,
  account: optionalText,
  qos: optionalText,
  /** Minutes; null: the limit of the partition. */
  time_limit: optionalCount,
  cpus_per_task: optionalCount,
  /** Megabytes for each node; null: what the partition gives. */
  mem: optionalCount,
  /** A container image; blank: the command runs on the node itself. */
  image: text,
  preamble: text,
  log_output_dir: text,
  launch_command: text,
  /** Sent unchanged, instead of the script that preamble, image and launch_command make; blank: none. */
  script_body: text,
  serving_port: count,
  health_path: text,
  target_replicas: count,
  min_replicas: count,
  /** No further jobs are submitted from this many lost replicas on; 0: no limit. */
  max_job_failures: count,
  /** What the console's form remembers of how the spec was made; the gateway does not read it. */
  launcher_spec: { column: "json", value: z.record(z.string(), z.unknown()) },
  /** What kept the provisioner from starting a replica; it writes this field. */
  provision_error: optionalText,
  ...TIME_FIELDS,
} as const satisfies FieldTable;
