/**
 * What part of a model's requests each address gets first, by the data plane's own order (docs/rules/upstream-calls.md#endpoint-order).
 * Failures of the last seconds, which move requests on, are not known here. Pure.
 */
import type { Records } from "../../data/api.ts";

type Model = Pick<Records["Model"], "api_base" | "endpoint_selection_mode">;

/** An endpoint as far as it decides; one that is not stored yet has no id. */
export type SharedEndpoint = Pick<
  Records["ModelEndpoint"],
  "name" | "priority" | "weight" | "enabled" | "health_status"
> & {
  readonly id: string;
};

interface TrafficShares {
  /** 0 to 1, of the model's own address, or of the default upstream if it has none. */
  readonly own: number;
  /** 0 to 1 by the id of the endpoint. */
  readonly endpoints: ReadonlyMap<string, number>;
}

/** The shares; they add up to 1. */
export function trafficShares(model: Model, endpoints: readonly SharedEndpoint[]): TrafficShares {
  const enabled = endpoints.filter((endpoint) => endpoint.enabled);
  const healthy = enabled.filter(({ health_status }) => health_status !== "unhealthy");
  const used = healthy.length > 0 ? healthy : model.api_base === "" ? enabled : [];
  if (used.length === 0) return { own: 1, endpoints: new Map() };
  if (model.endpoint_selection_mode === "failover") {
    const [first] = used.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
    return { own: 0, endpoints: new Map(first === undefined ? [] : [[first.id, 1]]) };
  }
  // sessions are ranked by their hash alone
  const isWeighted = model.endpoint_selection_mode === "load_balance";
  const parts = used.map(({ id, weight }) => [id, isWeighted ? weight : 1] as const);
  const sum = parts.reduce((total, [, part]) => total + part, 0);
  return { own: 0, endpoints: new Map(parts.map(([id, part]) => [id, sum > 0 ? part / sum : 1 / parts.length])) };
}
