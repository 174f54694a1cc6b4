/** Sessions of people in the console, on the Management API (docs/rules/console.md#sessions). */
import * as z from "zod";
import { storedId } from "./common.ts";

export const userSessionSchema = z
  .object({
    id: z.string(),
    created_at: z.string(),
    last_seen_at: z.string().meta({ description: "When it was used last, to the minute" }),
    expires_at: z.string(),
    address: z.string().meta({ description: "Network from which it began" }),
    agent: z.string().meta({ description: "Browser and system in which it began" }),
  })
  .meta({ id: "UserSession" });
export type UserSession = z.infer<typeof userSessionSchema>;

/** The query of DELETE /users/{id}/sessions. */
export const endSessionsQuerySchema = z.object({
  except: storedId.meta({ description: "Session that goes on" }).optional(),
});
