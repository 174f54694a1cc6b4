/** Worlds in which a law was once broken; each run of the simulation of exchanges plays them first. */
import type { Setup } from "./world.ts";

const CALM_TENANTS = [
  { maxInFlight: null, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: 40, tokensPerMinute: 0, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 900_000, termTokens: null },
  { maxInFlight: null, tokensPerMinute: 0, termTokens: 500_000 },
];
const setup: Setup = {
  algorithm: "weighted",
  capacity: 300,
  tenants: CALM_TENANTS,
  modelCaps: [null, 50],
  isolates: 2,
  seed: -1_905_343_424,
};
const life = { tenantAt: 0, modelAt: 0, everyMs: 12, lastsMs: 40 };
const weather = { do: "weather", lossy: 0.05, sessionLossy: 0.1, slow: 0.02, slowMs: 100 } as const;
const reset = { do: "reset", isolate: 0 } as const;

/**
 * An isolate gives up on the opening of a session, refuses its requests, and one life of the Cell writes their rows. The opening
 * arrives at the next life, which grants the requests; then the isolate sends the rows again.
 */
export const LATE_OPENING = [
  { ...setup, streams: [{ ...life, isolate: 0 }], afterMs: 400 },
  [
    { afterMs: 70, step: weather },
    { afterMs: 500, step: reset },
    { afterMs: 0, step: { ...life, do: "burst", isolate: 1, requests: 40 } },
    { afterMs: 20, step: { do: "stall", isolate: 0, ms: 80, tenantAt: 0, requests: 1 } },
    { afterMs: 500, step: reset },
    { afterMs: 0, step: { do: "stall", isolate: 0, ms: 150, tenantAt: 0, requests: 1 } },
    { afterMs: 3, step: reset },
    { afterMs: 20, step: { do: "stall", isolate: 0, ms: 10, tenantAt: 2, requests: 6 } },
  ],
] as const;
