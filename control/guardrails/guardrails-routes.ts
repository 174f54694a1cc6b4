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
      "Runs the scanners of the data plane except `harm`, which needs a model. `matches` says where the text matches, `input` and `output` what happens to it on either side.",
    tag: "Tenants",
    body: guardrailsTrialSchema,
    answer: guardrailsVerdictSchema,
    handler: async ({ body }) => tryPolicy(body),
  });
}
