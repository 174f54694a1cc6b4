/** Search parameters of the audit log: its filters by the names of the Management API, the period, and what is open. */
import { AUDIT_ENTITIES } from "../../../shared/schema/audit-entities.ts";
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;

export const auditSearch = searchParams({
  /** Entries stand in the order of their times. */
  columns: LIST_PARAMS.columns,
  /** `24h`, `7d`, `30d`, `month`, or days: `2026-11-01..2026-11-08`. */
  period: textParam(30),
  zone: choiceParam(["tenant", "browser", "utc"]),
  actor: textParam(NAME_MAX),
  /** One action, or several separated by commas. */
  action: textParam(NAME_MAX),
  entity_type: choiceParam(AUDIT_ENTITIES),
  entity_id: textParam(NAME_MAX),
  /** The id of the entry that is open beside the list. */
  open: textParam(40),
});

/** What the address of the page says. */
export type AuditSearch = ReturnType<typeof auditSearch>;
