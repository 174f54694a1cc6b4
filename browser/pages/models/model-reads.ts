/** What shows models, and is read again after a write (docs/rules/models.md). */
import { type ReadPath, read } from "../../data/reads.ts";

export const MODEL_READS: readonly ReadPath[] = [
  "/api/v1/models",
  "/api/v1/models/{id}",
  "/api/v1/models/{id}/endpoints",
  "/api/v1/models/{id}/health",
  "/api/v1/overview/attention",
  "/api/v1/audit",
];

const ENDPOINTS_EVERY_MS = 20_000;

/** All endpoints of a model. */
export function endpointsRead(id: string, isOn = true) {
  return read(
    "/api/v1/models/{id}/endpoints",
    { params: { path: { id }, query: { limit: "1000" } } },
    { everyMs: ENDPOINTS_EVERY_MS, enabled: isOn },
  );
}
