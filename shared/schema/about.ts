/** GET /about: what runs, on which schema, for which cells, and how it is protected (docs/rules/management-api.md#about). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";

export const aboutSchema = z
  .object({
    version: z.string(),
    git_sha: z.string().nullable(),
    built_at: z.string().nullable(),
    runtime: z.string().meta({ description: "Runtime of the control service" }),
    license: z.string(),
    schema_version: z.number().int().meta({ description: "Number of the database's newest migration" }),
    schema_applied_at: shownTime,
    cell: z.string().meta({ description: "The control service's own cell" }),
    cells: z.array(z.string()),
    secrets_encrypted: z.boolean(),
    keys_peppered: z.boolean(),
    private_networks_blocked: z.boolean(),
    management_body_max_bytes: z.number().int(),
    backup_body_max_bytes: z.number().int(),
  })
  .meta({ id: "About" });
export type About = z.infer<typeof aboutSchema>;
