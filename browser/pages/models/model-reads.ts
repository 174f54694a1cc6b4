/** What shows models, and is read again after a write (docs/rules/models.md). */
import type { ReadPath } from "../../data/reads.ts";

export const MODEL_READS: readonly ReadPath[] = [
  "/api/v1/models",
  "/api/v1/models/{id}",
  "/api/v1/models/{id}/endpoints",
  "/api/v1/models/{id}/health",
  "/api/v1/overview/attention",
  "/api/v1/audit",
];
