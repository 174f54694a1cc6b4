/** The models of the live view by the slots that they have in use. Pure. */
import type { FairshareLive } from "../../../shared/schema/load.ts";

/** One model. */
export interface ModelSlots {
  readonly model: string;
  readonly inFlight: number;
  readonly queued: number;
  /** Of the slots of the cell. */
  readonly share: number;
}

/** Models that somebody asks for now; by slots, then by who waits, then by name. */
export function modelSlots({ model_in_flight, model_queued, max_in_flight }: FairshareLive): readonly ModelSlots[] {
  const inFlight = new Map(Object.entries(model_in_flight));
  const queued = new Map(Object.entries(model_queued));
  return [...new Set([...inFlight.keys(), ...queued.keys()])]
    .map((model) => ({
      model,
      inFlight: inFlight.get(model) ?? 0,
      queued: queued.get(model) ?? 0,
      share: (inFlight.get(model) ?? 0) / max_in_flight,
    }))
    .filter((row) => row.inFlight > 0 || row.queued > 0)
    .sort((a, b) => b.inFlight - a.inFlight || b.queued - a.queued || (a.model < b.model ? -1 : 1));
}
