/** Alerts as people read them (docs/rules/alerts.md#reading-alerts). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";

const issue = { key: z.string(), title: z.string(), detail: z.string() };

/** An issue that is wrong now. */
const firingAlertSchema = z
  .object({
    ...issue,
    since: shownTime,
    repeats: z.number().int().meta({ description: "How many times the alert was raised again since then" }),
  })
  .meta({ id: "FiringAlert" });
export type FiringAlert = z.infer<typeof firingAlertSchema>;

/** One message: an issue, with its repeats until the next message about it. */
const loggedAlertSchema = z.object({ ...issue, at: shownTime, repeats: z.number().int() }).meta({ id: "LoggedAlert" });

/** GET /alerts */
export const alertOverviewSchema = z
  .object({ firing: z.array(firingAlertSchema), recent: z.array(loggedAlertSchema) })
  .meta({ id: "AlertOverview" });
export type AlertOverview = z.infer<typeof alertOverviewSchema>;
