/** Search parameters of the page `service`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;

/** What rows of the table are about. */
export const SERVICE_GROUPS = ["model", "tenant", "endpoint"] as const;
export type ServiceGroup = (typeof SERVICE_GROUPS)[number];

export const serviceSearch = searchParams({
  ...LIST_PARAMS,
  /** `24h`, `7d`, `30d`, `90d`, or days: `2026-11-01..2026-11-08`. */
  period: textParam(30),
  zone: choiceParam(["tenant", "browser", "utc"]),
  by: choiceParam(SERVICE_GROUPS),
  tenant_id: textParam(40),
  model: textParam(NAME_MAX),
  /** Of the model; empty is written as `-`. */
  endpoint: textParam(NAME_MAX),
  /** The times that the second chart shows. */
  show: choiceParam(["ttft", "total", "speed"]),
});

/** What the address of the page says. */
type ServiceSearch = ReturnType<typeof serviceSearch>;
/** Changes of an address; undefined takes a parameter away. */
export type ServiceChange = { readonly [N in keyof ServiceSearch]?: ServiceSearch[N] | undefined };
