/**
 * Managed models on the Management API: spec, body, and the error of the provisioner
 * (docs/rules/managed-models.md#spec-fields). What becomes a part of a job or of its script is held here to the characters
 * that it may have, because the scheduler's own errors come late and say little.
 */
import * as z from "zod";
import { recordShape } from "../fields/field-table.ts";
import { MANAGED_MODEL_FIELDS } from "../fields/managed-model-fields.ts";
import { MODEL_TYPES } from "../fields/model-fields.ts";
import { REPLICA_STATES } from "../fields/model-replica-fields.ts";
import {
  blankIsNull,
  flag,
  freeText,
  isStorable,
  isStorableJson,
  NOT_STORABLE,
  NOT_STORABLE_JSON,
  orNull,
  reportedText,
  requiredText,
  revField,
  whenValid,
  whole,
} from "./common.ts";

export const PORT_MAX = 65_535;
const COMMAND_MAX = 20_000;
const SCRIPT_MAX = 100_000;
const LAUNCHER_MAX_BYTES = 65_536;
const NODES_MAX = 1000;
const REPLICAS_MAX = 1000;
const MINUTES_MAX = 5_256_000;
const CPUS_MAX = 65_535;
const MEGABYTES_MAX = 1_000_000_000;
const FAILURES_MAX = 1_000_000;

const oneWord = /^[\x21-\x7e]*$/;
const ONE_WORD = "must be printable ASCII without spaces";
const isOneLine = (text: string): boolean => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
const ONE_LINE = "must be one line without control characters";

/** Something that the scheduler knows by a name or an expression, without spaces. */
const schedulerWord = freeText(1000).regex(oneWord, ONE_WORD);

const optionalWord = blankIsNull(schedulerWord);

/**
 * A part of a shell script. It is kept unchanged, because leading and trailing white space can matter in one. The scheduler
 * refuses scripts with carriage returns.
 */
const scriptText = (max: number) =>
  z
    .string({ error: "must be a string" })
    .max(max, `must be at most ${max} characters`)
    .refine(isStorable, NOT_STORABLE)
    .refine((text) => !text.includes("\r"), "must not contain carriage returns; end lines with a line feed");

/** A whole script, which names its interpreter; "" means no script. */
const scriptBody = scriptText(SCRIPT_MAX).refine(
  (text) => text === "" || text.startsWith("#!"),
  "must start with #! and an interpreter, such as #!/bin/bash",
);

const healthPath = requiredText(1000)
  .regex(oneWord, ONE_WORD)
  .refine((text) => /^\/(?!\/)[^#\\]*$/.test(text), "must be a path that starts with one slash");

const logDirectory = freeText(1000)
  .refine(isOneLine, ONE_LINE)
  .transform((text) => text.replace(/(?<=.)\/+$/, ""))
  .refine((text) => text === "" || text.startsWith("/"), "must be an absolute path, or blank");

const launcherSpec = z
  .record(z.string(), z.unknown(), { error: "must be an object" })
  .refine(isStorableJson, NOT_STORABLE_JSON)
  .refine(
    (value) => new TextEncoder().encode(JSON.stringify(value)).length <= LAUNCHER_MAX_BYTES,
    `must be at most ${LAUNCHER_MAX_BYTES} bytes as JSON`,
  );

/** Every field that an admin gives, without defaults. */
const given = {
  enabled: flag,
  partition: requiredText(1000).regex(oneWord, ONE_WORD),
  gres: schedulerWord,
  nodes: whole(1, NODES_MAX),
  constraints: optionalWord,
  exclude: optionalWord,
  account: optionalWord,
  qos: optionalWord,
  time_limit: whole(1, MINUTES_MAX).nullable(),
  cpus_per_task: whole(1, CPUS_MAX).nullable(),
  mem: whole(1, MEGABYTES_MAX).nullable(),
  image: freeText(1000).refine(isOneLine, ONE_LINE),
  preamble: scriptText(COMMAND_MAX),
  log_output_dir: logDirectory,
  launch_command: scriptText(COMMAND_MAX),
  script_body: scriptBody,
  serving_port: whole(1, PORT_MAX),
  health_path: healthPath,
  target_replicas: whole(0, REPLICAS_MAX),
  min_replicas: whole(0, REPLICAS_MAX),
  max_job_failures: whole(0, FAILURES_MAX),
  launcher_spec: launcherSpec,
};

/** The fields of a recipe's body: some or all of a spec's, each held to the same rules. */
export const recipeBodySchema = z.object(given).partial().meta({ id: "RecipeFields" });

/** PUT /models/{id}/managed: creates or replaces the spec; an omitted field gets its default. */
export const putManagedModelSchema = z
  .object({
    ...given,
    enabled: given.enabled.default(true),
    gres: given.gres.default(""),
    nodes: given.nodes.default(1),
    constraints: given.constraints.default(null),
    exclude: given.exclude.default(null),
    account: given.account.default(null),
    qos: given.qos.default(null),
    time_limit: given.time_limit.default(null),
    cpus_per_task: given.cpus_per_task.default(null),
    mem: given.mem.default(null),
    image: given.image.default(""),
    preamble: given.preamble.default(""),
    log_output_dir: given.log_output_dir.default(""),
    launch_command: given.launch_command.default(""),
    script_body: given.script_body.default(""),
    health_path: given.health_path.default("/health"),
    target_replicas: given.target_replicas.default(2),
    min_replicas: given.min_replicas.default(1),
    max_job_failures: given.max_job_failures.default(0),
    launcher_spec: given.launcher_spec.default({}),
  })
  .refine(({ launch_command, script_body }) => launch_command.trim() !== "" || script_body !== "", {
    path: ["launch_command"],
    message: "is required when script_body is blank",
    when: whenValid("launch_command", "script_body"),
  })
  .meta({ id: "PutManagedModel" });

/** PATCH /models/{id}/managed: null means the default. The stored result must obey the rules of PUT. */
export const patchManagedModelSchema = z
  .object({ ...orNull(given), partition: given.partition, serving_port: given.serving_port })
  .partial()
  .meta({ id: "PatchManagedModel" });

const replicaCount = z.number().int();

/** A spec as shown, with the fields of its model that the provisioner needs and the number of replicas in each state. */
export const managedModelSchema = z
  .object({
    ...recordShape(MANAGED_MODEL_FIELDS),
    model_name: z.string(),
    model_type: z.enum(MODEL_TYPES),
    upstream_model: z.string(),
    replicas: z.record(z.enum(REPLICA_STATES), replicaCount).meta({ description: "Number of replicas in each state" }),
    rev: revField,
  })
  .meta({ id: "ManagedModel" });
export type ManagedModel = z.infer<typeof managedModelSchema>;

/** As much of the scheduler's text as is kept. */
export const ERROR_CHARACTERS = 2000;

/** PATCH /models/{id}/managed/provision-error: what kept the provisioner from starting a replica; null: nothing any more. */
export const provisionErrorSchema = z
  .object({
    error: reportedText(ERROR_CHARACTERS)
      .nullable()
      .transform((text) => (text === "" ? null : text)),
  })
  .meta({ id: "ProvisionError" });
