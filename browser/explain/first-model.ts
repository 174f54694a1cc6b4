/** Which model is offered first: one that responds. Pure. */
import type { Records } from "../data/api.ts";

type Health = Pick<Records["Model"], "health_status">;

export function responds({ health_status: state }: Health): boolean {
  return state === "healthy" || state === "degraded";
}

/** The first of them that responds; else the first. */
export function firstModel<M extends Health>(models: readonly M[]): M | undefined {
  return models.find(responds) ?? models[0];
}
