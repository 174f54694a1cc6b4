/** Which managed models the list shows. Pure. */
import type { Records } from "../../data/api.ts";
import { type SpecState, specState } from "./spec-state.ts";

type Spec = Records["ManagedModel"];

interface Wanted {
  /** A part of the model's name or of the partition, in any case; empty: all. */
  readonly q: string;
  /** Undefined: all. */
  readonly state: SpecState | undefined;
}

/** The managed models of a state whose name or partition has the text. */
export function matchingSpecs(specs: readonly Spec[], { q, state }: Wanted): readonly Spec[] {
  const part = q.toLowerCase();
  return specs.filter(
    (spec) =>
      (state === undefined || specState(spec) === state) &&
      `${spec.model_name}\n${spec.partition}`.toLowerCase().includes(part),
  );
}
