/**
 * Fairshare groups on the Management API: record and bodies (docs/rules/fairshare.md#groups).
 */
import * as z from "zod";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import { GROUP_FIELDS } from "../fields/group-fields.ts";
import { nameField, revField, timestamp, whole } from "./common.ts";

export const fairshareGroupSchema = z
  .object({ ...recordShape(GROUP_FIELDS), rev: revField })
  .meta({ id: "FairshareGroup" });
export type FairshareGroup = z.infer<typeof fairshareGroupSchema>;

const weight = whole(1, 1_000_000);

/** The schema of each stored field. */
export const storedGroup = { name: nameField, weight, created_at: timestamp } satisfies StoredShape<
  typeof GROUP_FIELDS
>;

/** The name is one segment of a path: servers and proxies resolve `.` and `..`, and split at a slash, even if it is escaped. */
const groupName = nameField
  .refine((name) => name !== "." && name !== "..", "must not be . or ..")
  .refine((name) => !/[/\\]/.test(name), "must not have a slash or backslash");

/** POST /fairshare/groups */
export const createGroupSchema = z
  .object({ name: groupName, weight: weight.default(100) })
  .meta({ id: "CreateFairshareGroup" });

/** PATCH /fairshare/groups/{name} */
export const renameGroupSchema = z.object({ name: groupName }).meta({ id: "RenameFairshareGroup" });

/** PATCH /fairshare/groups/{name}/weight */
export const groupWeightSchema = z.object({ weight }).meta({ id: "FairshareGroupWeight" });
