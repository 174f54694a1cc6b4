/** Which endpoints are tried and in which order (docs/rules/upstream-calls.md#endpoint-order). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelRecord, ResolvedEndpoint } from "../../../shared/records.ts";
import { type OrderOptions, orderTargets } from "./endpoint-order.ts";

const DEFAULT = "http://default.test";

function endpoint(name: string, changes: Partial<ResolvedEndpoint> = {}): ResolvedEndpoint {
  return {
    id: `id-${name}`,
    name,
    api_base: `http://${name}.test/v1`,
    api_key: null,
    auth_scheme: null,
    priority: 100,
    weight: 100,
    enabled: true,
    health_status: "unknown",
    ...changes,
  };
}

type Mode = ModelRecord["endpoint_selection_mode"];

function model(endpoints: readonly ResolvedEndpoint[], mode: Mode = "failover", apiBase = "") {
  return {
    api_base: apiBase,
    api_key: "model-key",
    api_dialect: "openai",
    auth_scheme: "bearer",
    endpoints: [...endpoints],
    endpoint_selection_mode: mode,
  };
}

function options(changes: Partial<OrderOptions> = {}): OrderOptions {
  return { sessionId: "", fraction: () => 0.5, isDemoted: () => false, defaultBase: DEFAULT, ...changes };
}

const names = (...given: Parameters<typeof orderTargets>): readonly string[] =>
  orderTargets(...given).map((target) => target.apiBase.replace(/^http:\/\/|\.test.*$/g, ""));

it("has every enabled endpoint and the model's own address for a request that is bound to one", () => {
  const every = options({ every: true });
  const endpoints = [
    endpoint("ill", { health_status: "unhealthy" }),
    endpoint("off", { enabled: false }),
    endpoint("b"),
  ];
  expect(names(model(endpoints, "failover", "http://own.test"), every)).toEqual(["b", "ill", "own"]);
  expect(names(model([]), every)).toEqual(["default"]);
});

/** A small generator of fractions, the same for the same seed. */
function fractions(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const uniqueEndpoints = fc
  .uniqueArray(fc.uuid(), { minLength: 1, maxLength: 6 })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((id, at) =>
        fc.integer({ min: 1, max: 1000 }).map((weight) => endpoint(`e${at}`, { id, weight, priority: at % 3 })),
      ),
    ),
  );

describe("eligible endpoints", () => {
  it.each([
    ["no endpoint, no address", model([]), ["default"]],
    ["no endpoint", model([], "failover", "http://own.test"), ["own"]],
    ["healthy ones before the model's own address", model([endpoint("a")], "failover", "http://own.test"), ["a"]],
    [
      "degraded and unknown ones stay, unhealthy and disabled ones leave",
      model([
        endpoint("a", { health_status: "degraded" }),
        endpoint("b"),
        endpoint("c", { health_status: "unhealthy" }),
        endpoint("d", { enabled: false }),
      ]),
      ["a", "b"],
    ],
    [
      "the model's own address when all are unhealthy",
      model([endpoint("a", { health_status: "unhealthy" })], "failover", "http://own.test"),
      ["own"],
    ],
    [
      "the unhealthy ones when there is nothing else",
      model([endpoint("a", { health_status: "unhealthy" }), endpoint("b", { enabled: false })]),
      ["a"],
    ],
    ["the default upstream when all are disabled", model([endpoint("a", { enabled: false })]), ["default"]],
  ])("%s", (_, given, expected) => {
    expect(names(given, options())).toEqual(expected);
  });

  it("carry the endpoint's key, else the model's, else none, and mark the operator's upstream", () => {
    const endpoints = [endpoint("a", { api_key: "own" }), endpoint("b", { api_key: "" }), endpoint("c")];
    const credentials = (given: ReturnType<typeof model>) =>
      orderTargets(given, options()).map((target) => [target.credential, target.isDefault]);
    expect(credentials(model(endpoints))).toEqual([
      ["own", false],
      ["model-key", false],
      ["model-key", false],
    ]);
    expect(credentials({ ...model([]), api_key: "" })).toEqual([[null, true]]);
  });
});

describe("failover", () => {
  it("goes by priority, then by name, whatever chance and session say", () => {
    const endpoints = [endpoint("c"), endpoint("b", { priority: 1 }), endpoint("a"), endpoint("d", { priority: 0 })];
    fc.assert(
      fc.property(fc.string(), fc.integer(), (sessionId, seed) => {
        expect(names(model(endpoints), options({ sessionId, fraction: fractions(seed) }))).toEqual([
          "d",
          "b",
          "a",
          "c",
        ]);
      }),
    );
  });

  it("tries those last that failed lately, in their own order", () => {
    const endpoints = ["a", "b", "c", "d"].map((name) => endpoint(name));
    const isDemoted = (key: string): boolean => /^id-[ac] /.test(key);
    expect(names(model(endpoints), options({ isDemoted }))).toEqual(["b", "d", "a", "c"]);
  });
});

describe("every mode", () => {
  it("names each eligible endpoint exactly once", () => {
    fc.assert(
      fc.property(
        uniqueEndpoints,
        fc.constantFrom<Mode>("failover", "load_balance", "session_hash"),
        fc.string(),
        fc.integer(),
        fc.integer({ min: 0, max: 63 }),
        (endpoints, mode, sessionId, seed, mask) => {
          const isDemoted = (key: string): boolean =>
            endpoints.some((entry, at) => key.startsWith(`${entry.id} `) && (mask & (1 << at)) !== 0);
          const order = names(model(endpoints, mode), options({ sessionId, fraction: fractions(seed), isDemoted }));
          expect(order.toSorted()).toEqual(endpoints.map((entry) => entry.name).toSorted());
        },
      ),
    );
  });
});

describe("load_balance", () => {
  it("gives each endpoint its weight's share of first places in the long run", () => {
    fc.assert(
      fc.property(uniqueEndpoints, fc.integer(), (endpoints, seed) => {
        const fraction = fractions(seed);
        const rounds = 4000;
        const firsts = new Map<string, number>();
        for (let round = 0; round < rounds; round += 1) {
          const [first] = names(model(endpoints, "load_balance"), options({ fraction }));
          firsts.set(String(first), (firsts.get(String(first)) ?? 0) + 1);
        }
        const total = endpoints.reduce((sum, entry) => sum + entry.weight, 0);
        for (const { name, weight } of endpoints) {
          const share = weight / total;
          // six standard deviations of a binomial share
          const bound = 6 * Math.sqrt((share * (1 - share)) / rounds) + 1 / rounds;
          expect(Math.abs((firsts.get(name) ?? 0) / rounds - share)).toBeLessThanOrEqual(bound);
        }
      }),
      { numRuns: 20, seed: 1 },
    );
  });

  it("keeps large weights apart", () => {
    const endpoints = [endpoint("small", { weight: 1 }), endpoint("large", { weight: 1_000_000_000 })];
    const fraction = fractions(7);
    for (let round = 0; round < 200; round += 1)
      expect(names(model(endpoints, "load_balance"), options({ fraction }))[0]).toBe("large");
  });

  it("has an order also when chance is exactly zero", () => {
    const endpoints = [endpoint("a"), endpoint("b")];
    expect(names(model(endpoints, "load_balance"), options({ fraction: () => 0 }))).toEqual(["a", "b"]);
  });
});

describe("session_hash", () => {
  it("ranks the same for the same session, whatever the order of the record", () => {
    fc.assert(
      fc.property(uniqueEndpoints, fc.string({ minLength: 1 }), fc.integer(), (endpoints, sessionId, seed) => {
        const order = (given: readonly ResolvedEndpoint[], fraction: () => number) =>
          names(model(given, "session_hash"), options({ sessionId, fraction }));
        expect(order(endpoints.toReversed(), fractions(seed))).toEqual(order(endpoints, () => 0.5));
      }),
    );
  });

  it("moves only the sessions of an endpoint that leaves, and those to their second choice", () => {
    fc.assert(
      fc.property(uniqueEndpoints, fc.string({ minLength: 1 }), fc.nat(), (endpoints, sessionId, index) => {
        const order = (given: readonly ResolvedEndpoint[]) =>
          names(model(given, "session_hash"), options({ sessionId }));
        fc.pre(endpoints.length > 1);
        const gone = endpoints[index % endpoints.length];
        const rest = endpoints.filter((entry) => entry !== gone);
        expect(order(rest)).toEqual(order(endpoints).filter((name) => name !== gone?.name));
      }),
    );
  });

  it("spreads sessions evenly, whatever the weights", () => {
    const ids = [
      "0b5c1c0e-8f7e-4c43-9c2c-5f3a1f0e7d11",
      "9f86d081-884c-4d65-9a2f-eaa0c55ad015",
      "3fdba35f-04dc-4c46-8986-c992bcf87554",
    ];
    const endpoints = ids.map((id, at) => endpoint(`e${at}`, { id, weight: 10 ** at }));
    const firsts = new Map<string, number>();
    for (let session = 0; session < 6000; session += 1) {
      const [first] = names(model(endpoints, "session_hash"), options({ sessionId: `session-${session}` }));
      firsts.set(String(first), (firsts.get(String(first)) ?? 0) + 1);
    }
    for (const count of firsts.values()) expect(Math.abs(count - 2000)).toBeLessThan(300);
    expect(firsts.size).toBe(3);
  });

  it("falls back to the weights without a session", () => {
    const endpoints = [endpoint("light", { weight: 1 }), endpoint("heavy", { weight: 99 })];
    const fraction = fractions(3);
    const heavy = Array.from({ length: 1000 }, () => names(model(endpoints, "session_hash"), options({ fraction }))[0]);
    expect(heavy.filter((name) => name === "heavy").length).toBeGreaterThan(950);
  });
});

it("sends each credential as its endpoint says, else as the model does", () => {
  const own = endpoint("own", { auth_scheme: "x-api-key", priority: 1 });
  const targets = orderTargets(model([own, endpoint("inherited")]), options());
  expect(targets.map(({ name, access }) => ({ name, scheme: access.auth_scheme }))).toEqual([
    { name: "own", scheme: "x-api-key" },
    { name: "inherited", scheme: "bearer" },
  ]);
});
