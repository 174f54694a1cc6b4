/** Alerts as people read them, and what they say of them (docs/rules/alerts.md#reading-alerts). */
import * as z from "zod";
import { SEVERITIES } from "../catalogues/alerts.ts";
import { shownTime } from "../fields/common-fields.ts";
import { flag, revField, timestamp } from "./common.ts";

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
