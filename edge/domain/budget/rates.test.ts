import { expect, it } from "vitest";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { LIMITS } from "./limits.ts";
import { rateLimitsOf } from "./rates.ts";
import { faultIn } from "./shapes.ts";

it.each([Number.NaN, -1, 0.5])("a limit per minute of %d is refused, and is not taken for no limit", (cap) => {
  const { tenant, key } = limitsWith({});
  const limits = { tenant: { ...tenant, ...rateLimitsOf({ requests_per_minute: cap }) }, key };
  expect(faultIn(LIMITS, limits, "limits")).toBe("limits.tenant.requestsPerMinute");
});
