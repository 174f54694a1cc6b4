/** Which managed models the list shows, and in which order. Pure. */
import type { Records } from "../../data/api.ts";
import type { SORTS } from "./deployments-search.ts";
import { type SpecState, specState } from "./spec-state.ts";

type Spec = Records["ManagedModel"];

interface Wanted {
  /** A part of the model's name or of the partition, in any case; empty: all. */
  readonly q: string;
  /** Undefined: all. */
  readonly state: SpecState | undefined;
  readonly sort: (typeof SORTS)[number];
  readonly isDescending: boolean;
}

const COUNTS = {
  target: ({ target_replicas }: Spec) => target_replicas,
  healthy: ({ replicas: { healthy = 0 } }: Spec) => healthy,
  lost: ({ replicas: { lost = 0 } }: Spec) => lost,
};

/** Equal ones are in the order of their names. */
export function listedSpecs(specs: readonly Spec[], { q, state, sort, isDescending }: Wanted): readonly Spec[] {
  const part = q.toLowerCase();
  const sign = isDescending ? -1 : 1;
  const { compare } = new Intl.Collator();
  return specs
    .filter(
      (spec) =>
        (state === undefined || specState(spec) === state) &&
        `${spec.model_name}\n${spec.partition}`.toLowerCase().includes(part),
    )
    .sort((one, other) => {
      const byName = compare(one.model_name, other.model_name);
      if (sort === "name") return sign * byName;
      return sign * (COUNTS[sort](one) - COUNTS[sort](other)) || byName;
    });
}
