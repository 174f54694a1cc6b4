/** Sessions of people in the console, on the Management API (docs/rules/console.md#sessions). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { storedId } from "./common.ts";

export const userSessionSchema = z
  .object({
    id: z.string(),
    created_at: shownTime,
    last_seen_at: shownTime.meta({ description: "When it was used last, to the minute" }),
    expires_at: shownTime,
    address: z.string().meta({ description: "Network of the sign-in" }),
    agent: z.string().meta({ description: "Browser and system of the sign-in" }),
  })
  .meta({ id: "UserSession" });
export type UserSession = z.infer<typeof userSessionSchema>;

/** The query of DELETE /users/{id}/sessions. */
export const endSessionsQuerySchema = z.object({
  except: storedId.meta({ description: "Session that stays" }).optional(),
});
