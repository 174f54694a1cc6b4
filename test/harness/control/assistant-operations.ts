/** Parts of the assistant's tests: a document, and what it makes. */
import { type AssistantOperation, operationsOf, type ReachableRoute } from "../../../control/assistant/operations.ts";

export const ASSISTANT_ROUTES: readonly ReachableRoute[] = [
  { method: "GET", path: "/tenants" },
  { method: "GET", path: "/tenants/{id}" },
  { method: "GET", path: "/models/health" },
  { method: "GET", path: "/models/{id}" },
  { method: "GET", path: "/backup/export" },
  { method: "PATCH", path: "/tenants/{id}/status" },
  { method: "PATCH", path: "/tenants/{id}/guardrails" },
  { method: "DELETE", path: "/tenants/{id}" },
  { method: "POST", path: "/tenants/{id}/keys" },
];

const text = { type: "string" };
const schemaNamed = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const bodyOf = (name: string) => ({ requestBody: { content: { "application/json": { schema: schemaNamed(name) } } } });
const query = ["q", "format"].map((name) => ({ name, in: "query", schema: text }));
const withId = { parameters: [{ name: "id", in: "path", required: true, schema: text }] };

const DOCUMENT = {
  paths: {
    "/api/v1/tenants": { get: { summary: "List tenants", parameters: query } },
    "/api/v1/tenants/{id}": {
      get: { summary: "Read a tenant", ...withId },
      delete: { summary: "Delete a tenant with its keys", ...withId },
    },
    "/api/v1/tenants/{id}/status": { patch: { summary: "Set a tenant's status", ...withId, ...bodyOf("Status") } },
    "/api/v1/tenants/{id}/guardrails": { patch: { summary: "Set a tenant's guardrails", ...bodyOf("Guardrails") } },
    "/api/v1/tenants/{id}/keys": { post: { summary: "Create a key", ...bodyOf("Loop") } },
    "/api/v1/models/health": { get: { summary: "List health" } },
    "/api/v1/models/{id}": { get: { summary: "Read a model", ...withId } },
    "/api/v1/backup/export": { get: { summary: "Export" } },
    "/api/v1/settings/jobsched/resolved": { get: { summary: "Not reachable" } },
  },
  components: {
    schemas: {
      Status: {
        type: "object",
        required: ["status"],
        properties: { status: { type: "string", enum: ["active", "suspended"], examples: ["active"] } },
      },
      Guardrails: { type: "object", properties: { policy: schemaNamed("Policy") } },
      Policy: {
        type: ["object", "null"],
        properties: { action: text, input_scanners: { type: "array", items: text } },
      },
      Loop: { type: "object", properties: { inner: schemaNamed("Loop") } },
    },
  },
};

export const OPERATIONS: readonly AssistantOperation[] = operationsOf(DOCUMENT, ASSISTANT_ROUTES);

/** Throws when there is none. */
export function operationNamed(name: string): AssistantOperation {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}
