/**
 * Reads the power of the cluster from its metrics server (docs/rules/energy.md#readings): two instant queries of the
 * Prometheus HTTP API.
 */
import { z } from "zod";
import { INFRASTRUCTURE_POLICY } from "../../shared/network/ssrf.ts";
import type { PowerReading } from "../../shared/schema/settings/energy.ts";
import { fetchJson, OutboundError } from "../kernel/outbound/bounded-fetch.ts";

const TIMEOUT_MS = 5000;

const answerSchema = z.object({
  status: z.literal("success"),
  data: z.object({
    resultType: z.literal("vector"),
    result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })),
  }),
});

/** Watts of all nodes together, and how many nodes were measured; neither is below 0. Throws OutboundError. */
export async function readPower(prometheusUrl: string, powerQuery: string): Promise<PowerReading> {
  const [watts, nodes] = await Promise.all([
    instant(prometheusUrl, `sum(${powerQuery})`),
    instant(prometheusUrl, `count(${powerQuery})`),
  ]);
  return { cluster_watts: watts, node_count: nodes };
}

async function instant(prometheusUrl: string, query: string): Promise<number> {
  const url = `${prometheusUrl}/api/v1/query?${new URLSearchParams({ query }).toString()}`;
  const answer = answerSchema.safeParse(await fetchJson({ url, timeoutMs: TIMEOUT_MS, policy: INFRASTRUCTURE_POLICY }));
  if (!answer.success) throw new OutboundError("not a response to an instant query");
  const value = Number(answer.data.data.result[0]?.value[1] ?? Number.NaN);
  if (value >= 0 && Number.isFinite(value)) return value;
  if (answer.data.data.result.length === 0) throw new OutboundError("the query has no result");
  throw new OutboundError(value < 0 ? "the result is below 0" : "the result is not a number");
}
