/** The route that tries a guardrails policy. */
import { guardrailsTrialSchema, guardrailsVerdictSchema } from "../../shared/schema/guardrails.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api } from "../api/types.ts";
import { tryPolicy } from "./try-policy.ts";

export function guardrailsRoutes(app: Api): void {
  endpoint(app, {
    kind: "read",
    method: "post",
    path: "/api/v1/guardrails/test",
    summary: "Try a guardrails policy on a text; stores nothing",
    description:
      "Runs the data plane's scanners except `harm`, which needs a model. `matches` shows where the text matches; `input` and `output` show what happens to it in a request and in a response.",
    tag: "Tenants",
    body: guardrailsTrialSchema,
    answer: guardrailsVerdictSchema,
    handler: async ({ body }) => tryPolicy(body),
  });
}
