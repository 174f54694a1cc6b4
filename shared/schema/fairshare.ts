/**
 * Fairshare groups on the Management API: record and bodies (specification "Fairshare", decisions §7.1).
 */
import * as z from "zod";
import { nameField, whole } from "./common.ts";

export const fairshareGroupSchema = z
  .object({ name: z.string(), weight: z.number().int(), created_at: z.string(), updated_at: z.string() })
  .meta({ id: "FairshareGroup" });
export type FairshareGroup = z.infer<typeof fairshareGroupSchema>;

const weight = whole(1, 1_000_000);

/** POST /fairshare/groups */
export const createGroupSchema = z
  .object({ name: nameField, weight: weight.default(100) })
  .meta({ id: "CreateFairshareGroup" });

/** PATCH /fairshare/groups/{name}/weight */
export const groupWeightSchema = z.object({ weight }).meta({ id: "FairshareGroupWeight" });
