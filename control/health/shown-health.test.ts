/** The state of models as reads show it (docs/rules/health.md#shown-state). */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import { TrafficHealth } from "./shown-health.ts";

const statusOf = async (
  rows: readonly { name: string; requests: number; served: number }[] | GatewayError,
  status = "unknown",
) => {
  let reads = 0;
  const store = {
    db: "gateway",
    rows: async <T>(): Promise<readonly T[]> => {
      reads += 1;
      if (rows instanceof GatewayError) throw rows;
      return rows as unknown as readonly T[];
    },
  };
  const of = await new TrafficHealth(store).statusOf([status], 0);
  return { shown: of("m", status), reads };
};
const shownAfter = async (requests: number, served: number) =>
  (await statusOf([{ name: "m", requests, served }])).shown;

describe("a model whose checks found nothing", () => {
  it("is healthy when it serves, and degraded from three and a fifth of failed requests on", async () => {
    expect(await shownAfter(40, 27)).toBe("degraded");
    expect(await shownAfter(5, 0)).toBe("degraded");
    expect(await shownAfter(40, 35)).toBe("healthy");
    expect(await shownAfter(2, 1)).toBe("healthy");
    expect(await shownAfter(2, 0)).toBe("unknown");
  });

  it("is unknown without requests, and without the analytics store", async () => {
    expect(await statusOf([])).toEqual({ shown: "unknown", reads: 1 });
    expect(await statusOf(new GatewayError("analytics_unavailable"))).toEqual({ shown: "unknown", reads: 1 });
  });
});

it("what checks found is shown without a look at the requests", async () => {
  expect(await statusOf([{ name: "m", requests: 9, served: 0 }], "healthy")).toEqual({ shown: "healthy", reads: 0 });
});
