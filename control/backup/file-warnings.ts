/**
 * What a restore takes and somebody should look at: values of an earlier version that the Management API refuses now, and fields
 * that a row of this very version lacks (docs/rules/backup.md#file).
 */
import * as z from "zod";
import { BACKUP_ENTITIES, type Backup, type BackupEntity } from "../../shared/schema/backup.ts";
import { budgetFields, endUserBudgetFields } from "../../shared/schema/common.ts";
import { priceFields } from "../../shared/schema/model.ts";
import { errorDetailsOf, IN_WORDS } from "../kernel/parse.ts";
import { type BackupRow, ENTITIES } from "./backup-entities.ts";

/** As many as a person reads. */
const LISTED_MAX = 100;

const { budget_cost_usd } = budgetFields;
const { end_user_budget_cost_usd } = endUserBudgetFields;
/** The fields whose bounds are newer than the first version. */
const BOUNDED: Partial<Record<BackupEntity, z.ZodObject>> = {
  tenants: z.object({ budget_cost_usd, end_user_budget_cost_usd }),
  api_keys: z.object({ budget_cost_usd }),
  models: z.object(priceFields),
};

/** Of each kind the first {@link LISTED_MAX}. `given`: the file as it was sent; `version`: of this gateway. */
export function fileWarnings(
  { data, gateway_version }: Pick<Backup, "data" | "gateway_version">,
  given: Backup["data"],
  version: string | undefined,
): readonly string[] {
  const lacking = gateway_version === version ? rowsOf(given, lackedFields) : [];
  return [...rowsOf(data, outOfBounds).slice(0, LISTED_MAX), ...lacking.slice(0, LISTED_MAX)];
}

function rowsOf(
  data: Partial<Backup["data"]>,
  warningsOf: (entity: BackupEntity, row: BackupRow, at: number) => readonly string[],
): readonly string[] {
  return BACKUP_ENTITIES.flatMap((entity) =>
    ((data[entity] ?? []) as readonly BackupRow[]).flatMap((row, at) => warningsOf(entity, row, at)),
  );
}

function outOfBounds(entity: BackupEntity, row: BackupRow, at: number): readonly string[] {
  const { error } = BOUNDED[entity]?.safeParse(row, IN_WORDS) ?? {};
  if (error === undefined) return [];
  return errorDetailsOf(error, ["data", entity, at]).map(
    ({ path, message }) =>
      `${nameOf(entity, row)}: ${path} ${message}; it is restored with its value, which the Management API would refuse`,
  );
}

function lackedFields(entity: BackupEntity, row: BackupRow, at: number): readonly string[] {
  const lacked = Object.keys(ENTITIES[entity].schema.shape).filter((field) => !Object.hasOwn(row, field));
  if (lacked.length === 0) return [];
  return [`${nameOf(entity, row)}: data.${entity}.${at} lacks ${lacked.join(", ")}, so their defaults are restored`];
}

function nameOf(entity: BackupEntity, row: BackupRow): string {
  const { label, name } = ENTITIES[entity];
  return `${label} '${String(row[name])}'`;
}
