/** Search parameters of the page of one tenant. */
import { choiceParam, searchParams, textParam } from "../../data/search-params.ts";

/** The parts of the page, in their order. */
export const TENANT_TABS = [
  "profile",
  "schedule",
  "budget",
  "models",
  "guardrails",
  "compression",
  "keys",
  "usage",
  "history",
] as const;

export const tenantSearch = searchParams({
  tab: choiceParam(TENANT_TABS),
  /** Of the list of keys. */
  q: textParam(200),
  disabled: choiceParam(["true", "false"]),
  key_id: textParam(40),
  /** Of the usage: `7d`, `30d`, `month`, or days; and the order of its tables. */
  period: textParam(30),
  sort: textParam(30),
});
