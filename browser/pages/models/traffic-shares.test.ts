/** The shares of traffic are those of the data plane's own order (edge/domain/upstream/endpoint-order.ts). */
import { describe, expect, it } from "vitest";
import { type SharedEndpoint, trafficShares } from "./traffic-shares.ts";

const endpoint = (id: string, fields: Partial<SharedEndpoint> = {}): SharedEndpoint => ({
  id,
  name: id,
  priority: 100,
  weight: 100,
  enabled: true,
  health_status: "healthy",
  ...fields,
});
const MODEL = { api_base: "http://own/v1", endpoint_selection_mode: "failover" } as const;
const sharesOf = (model: Parameters<typeof trafficShares>[0], endpoints: readonly SharedEndpoint[]) => {
  const shares = trafficShares(model, endpoints);
  return { own: shares.own, ...Object.fromEntries(shares.endpoints) };
};

describe("the shares of traffic", () => {
  it("are the base URL's until an endpoint is enabled and not down", () => {
    expect(sharesOf(MODEL, [])).toEqual({ own: 1 });
    expect(sharesOf(MODEL, [endpoint("a", { enabled: false })])).toEqual({ own: 1 });
    expect(sharesOf(MODEL, [endpoint("a", { health_status: "unhealthy" })])).toEqual({ own: 1 });
    expect(sharesOf(MODEL, [endpoint("a", { health_status: "degraded" })])).toEqual({ own: 0, a: 1 });
  });

  it("are all of the first one's by priority, then name", () => {
    expect(sharesOf(MODEL, [endpoint("b"), endpoint("a"), endpoint("z", { priority: 10 })])).toEqual({ own: 0, z: 1 });
    expect(sharesOf(MODEL, [endpoint("b"), endpoint("a")])).toEqual({ own: 0, a: 1 });
  });

  it("follow the weights, and are equal for sessions", () => {
    const two = [endpoint("a", { weight: 300 }), endpoint("b")];
    expect(sharesOf({ ...MODEL, endpoint_selection_mode: "load_balance" }, two)).toEqual({ own: 0, a: 0.75, b: 0.25 });
    expect(sharesOf({ ...MODEL, endpoint_selection_mode: "session_hash" }, two)).toEqual({ own: 0, a: 0.5, b: 0.5 });
  });

  it("without a base URL are those of endpoints that are down, because nothing else is there", () => {
    const down = endpoint("a", { health_status: "unhealthy" });
    expect(sharesOf({ ...MODEL, api_base: "" }, [down])).toEqual({ own: 0, a: 1 });
    expect(sharesOf({ ...MODEL, api_base: "" }, [])).toEqual({ own: 1 });
  });
});
