/** Which controls a spec has, from the table of its fields, in the order in which one thinks of them. Pure. */
import { MANAGED_MODEL_FIELDS } from "../../../shared/fields/managed-model-fields.ts";
import { recipeBodySchema } from "../../../shared/schema/managed-model.ts";
import { fieldSpecs } from "../../forms/record/field-specs.ts";

/** Fields that are not named here come last. */
const FIRST = [
  "target_replicas",
  "min_replicas",
  "max_job_failures",
  "enabled",
  "partition",
  "gres",
  "nodes",
  "cpus_per_task",
  "mem",
  "time_limit",
  "account",
  "qos",
  "constraints",
  "exclude",
  "log_output_dir",
  "image",
  "serving_port",
  "health_path",
  "preamble",
  "launch_command",
  "script_body",
];

/** The controls of a spec. */
export const SPEC_FIELDS = fieldSpecs(
  new Set([...FIRST, ...Object.keys(recipeBodySchema.shape)]),
  MANAGED_MODEL_FIELDS,
);
