/** Search parameters of the page `alerts`: its part, what is open, and the filters of the history by the names of the API. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";

export const ALERT_TABS = ["active", "history", "channels"] as const;
export const SEVERITY_FILTERS = ["critical", "warning", "info"] as const;
export const STATE_FILTERS = ["active", "ended"] as const;
const KEY_MAX = 1000;

export const alertsSearch = searchParams({
  ...LIST_PARAMS,
  ...listParams("changes_"),
  tab: choiceParam(ALERT_TABS),
  /** The alert that is open beside the list. */
  key: textParam(KEY_MAX),
  /** The channel that is open. */
  channel: textParam(64),
  severity: choiceParam(SEVERITY_FILTERS),
  state: choiceParam(STATE_FILTERS),
  kind: textParam(100),
  q: textParam(200),
  /** `24h`, `7d`, `30d`, or days: `2026-11-01..2026-11-08`. */
  period: textParam(30),
});

/** What the address of the page says. */
export type AlertsSearch = ReturnType<typeof alertsSearch>;
/** Sets some parameters; undefined takes one away. */
export type ChangeSearch = (change: { readonly [N in keyof AlertsSearch]?: AlertsSearch[N] | undefined }) => void;
