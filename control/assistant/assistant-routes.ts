/** What the console's assistant needs of the Management API (docs/rules/assistant.md#model). */
import { createdKeySchema } from "../../shared/schema/api-key.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { makeAssistantKey } from "./assistant-key.ts";

/** The key of the assistant. */
export function assistantRoutes(app: Api): void {
  endpoint(app, {
    kind: "write",
    method: "post",
    path: "/api/v1/assistant/key",
    summary: "Create a key for the console's assistant, valid for a day",
    description:
      "For the console's server. Creates the tenant `gateway-assistant` if it is missing, and removes its expired keys.",
    tag: "Operations",
    access: "token",
    answer: createdKeySchema,
    noStore: true,
    handler: async ({ ctx }) => await makeAssistantKey(ctx),
  });
}
