/** Whose issue an issue is, by its key (docs/rules/alerts.md#many-issues-of-a-tenant): a tenant's, or the gateway's own. */
import { type SQL, sql } from "drizzle-orm";
import { alertIssues } from "./tables.ts";

/** The issues that each tenant has separately, as a pattern that PostgreSQL and JavaScript read alike. */
const OF_TENANTS =
  "^(?:(?:key_)?term_budget_|guardrails_(?:in|out)put|stored_objects_forgotten:|tenant_expiry:|identity_tenant_created:)";
const ID_AT_END = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

const ofTenants = new RegExp(OF_TENANTS);

export const isOfTenant = (issueKey: string): boolean => ofTenants.test(issueKey);

const id = sql`substring(${alertIssues.issue_key} FROM ${sql.raw(`'${ID_AT_END}'`)})`;

/**
 * The tenant of a row of the issues, null for the gateway's own. Issues of tenants without an id in their keys count as those of one
 * tenant. Without parameters: the text of an expression that sorts is compared.
 */
export const tenantOfIssue: SQL<string | null> =
  sql`CASE WHEN ${alertIssues.issue_key} ~ ${sql.raw(`'${OF_TENANTS}'`)} THEN coalesce(
  (SELECT tenant_id::text FROM api_keys WHERE id = ${id}::uuid),
  (SELECT tenant_id::text FROM deleted_names WHERE id = ${id}::uuid), ${id}, '') END`;
