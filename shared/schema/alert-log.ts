/** Alerts as people read them, and what they say of them (docs/rules/alerts.md#reading-alerts). */
import * as z from "zod";
import { ALERT_TITLES, type AlertKey, SEVERITIES } from "../catalogues/alerts.ts";
import { shownTime } from "../fields/common-fields.ts";
import { epochMsQuery, flag, queryText, revField, timestamp } from "./common.ts";

const issue = { key: z.string(), title: z.string(), detail: z.string(), severity: z.enum(SEVERITIES) };

const mark = {
  acknowledged: z.boolean(),
  acknowledged_at: shownTime.nullable(),
  acknowledged_by: z.string().nullable(),
  muted_until: shownTime.nullable(),
  muted_by: z.string().nullable(),
  rev: revField,
};

/** GET and PATCH /alerts/{key} */
export const alertMarkSchema = z.object({ key: z.string(), ...mark }).meta({ id: "AlertMark" });
export type AlertMark = z.infer<typeof alertMarkSchema>;

/** PATCH /alerts/{key} */
export const changeAlertMarkSchema = z
  .object({
    acknowledged: flag.optional().meta({ description: "No repeats are sent until the alert ends" }),
    muted_until: timestamp.nullable().optional().meta({ description: "Nothing is sent until then" }),
  })
  .meta({ id: "ChangeAlertMark" });

/** An issue that is wrong now. */
const firingAlertSchema = z
  .object({
    ...issue,
    since: shownTime,
    last_at: shownTime.meta({ description: "When it was raised last, with this detail" }),
    repeats: z.number().int().meta({ description: "How many times the alert was raised again since then" }),
    ...mark,
  })
  .meta({ id: "FiringAlert" });
export type FiringAlert = z.infer<typeof firingAlertSchema>;

/** One message: an issue, with its repeats until the next message about it. */
const loggedAlertSchema = z.object({ ...issue, at: shownTime, repeats: z.number().int() }).meta({ id: "LoggedAlert" });
export type LoggedAlert = z.infer<typeof loggedAlertSchema>;

/** GET /alerts */
export const alertOverviewSchema = z
  .object({
    firing: z.array(firingAlertSchema),
    recent: z.array(loggedAlertSchema),
    muted: z.array(alertMarkSchema).meta({ description: "Also those that do not fire" }),
  })
  .meta({ id: "AlertOverview" });
export type AlertOverview = z.infer<typeof alertOverviewSchema>;

/** GET /alerts/{key}: the mark, and what the catalogue of alerts says. */
export const alertDetailSchema = alertMarkSchema
  .extend({
    kind: z.string().meta({ description: "Key of the alert in the reference, without its subject" }),
    title: z.string(),
    severity: z.enum(SEVERITIES),
    firing_since: shownTime.nullable().meta({ description: "null: not active" }),
    detail: z.string().nullable().meta({ description: "Of the last time that it was raised, if it is active" }),
    means: z.string(),
    action: z.string(),
    runbook: z.string().meta({ description: "Its place in the documentation" }),
  })
  .meta({ id: "AlertDetail" });
export type AlertDetail = z.infer<typeof alertDetailSchema>;

const ALERT_STATES = ["active", "ended"] as const;

/** One time that an issue was active, or one event. */
export const alertHistoryEntrySchema = z
  .object({
    id: z.number().int(),
    kind: z.string().nullable().meta({ description: "null: no alert of this version" }),
    ...issue,
    state: z.enum(ALERT_STATES),
    since: shownTime,
    last_at: shownTime.meta({ description: "When it was raised last" }),
    repeats: z.number().int(),
  })
  .meta({ id: "AlertHistoryEntry" });
export type AlertHistoryEntry = z.infer<typeof alertHistoryEntrySchema>;

const ALERT_KINDS = Object.keys(ALERT_TITLES) as [AlertKey, ...AlertKey[]];

/** Filters of GET /alerts/history without paging. */
export const alertHistoryFilterSchema = z.object({
  severity: z.enum(SEVERITIES, { error: `must be ${SEVERITIES.join(", ")}` }).optional(),
  state: z.enum(ALERT_STATES, { error: `must be ${ALERT_STATES.join(" or ")}` }).optional(),
  kind: z.enum(ALERT_KINDS, { error: "is not the key of an alert" }).optional(),
  key: queryText.optional().meta({ description: "One alert, by its whole key" }),
  q: queryText.optional().meta({ description: "Text in key, title or detail" }),
  since_ms: epochMsQuery.optional().meta({ description: "Raised at this time or later" }),
  until_ms: epochMsQuery.optional().meta({ description: "Active before this time" }),
});
