/**
 * The audit log as admins read it (docs/rules/management-api.md#audit-log).
 */
import * as z from "zod";
import { epochMsQuery, queryText, timestamp, uuidQuery } from "./common.ts";

export const auditEntrySchema = z
  .object({
    id: z.number().int(),
    ts: timestamp,
    actor: z.string(),
    address: z.string().meta({ description: "IP address of the caller. Empty: background work, or unknown" }),
    action: z.string(),
    entity_type: z.string(),
    entity_id: z.string(),
    /** The detail of an update is `{changed: {field: [old, new]}}`; a secret shows as `"changed"`, a long list as what was taken out and added. */
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntry = z.infer<typeof auditEntrySchema>;

const exact = queryText.optional();

/** Filters of GET /audit in addition to paging. All compare exactly; bounds are inclusive. */
export const auditFilterSchema = z.object({
  actor: exact,
  action: queryText
    .transform((text) => text.split(",").map((action) => action.trim()))
    .meta({ description: "One action, or several separated by commas" })
    .optional(),
  entity_type: exact,
  entity_id: exact,
  replicas_of: uuidQuery.optional().meta({
    description: "ID of a model: lists changes to its replicas, including deleted ones",
  }),
  since_ms: epochMsQuery.optional(),
  until_ms: epochMsQuery.optional(),
});
