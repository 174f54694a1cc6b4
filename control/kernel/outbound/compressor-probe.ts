/**
 * Checks the state of the compression sidecar (docs/rules/settings.md#compressor). It never throws: a failure is part
 * of the result.
 */
import { z } from "zod";
import { INFRASTRUCTURE_POLICY } from "../../../shared/network/ssrf.ts";
import type { Compressor } from "../../../shared/schema/settings/compressor.ts";
import { fetchJson, OutboundError } from "./bounded-fetch.ts";

const TIMEOUT_MS_MIN = 2000;

const healthSchema = z.object({
  status: z.string(),
  model: z.string().nullable().catch(null),
  revision: z.string().nullable().catch(null),
});

/** Blank `url`: none is configured. */
export async function probeCompressor(url: string, timeoutMs: number): Promise<Compressor> {
  const base = { configured: url !== "", url, reachable: false, model: null, revision: null, error: null };
  if (url === "") return base;
  try {
    const answer = await fetchJson({
      url: `${url}/health`,
      timeoutMs: Math.max(timeoutMs, TIMEOUT_MS_MIN),
      policy: INFRASTRUCTURE_POLICY,
    });
    const health = healthSchema.safeParse(answer);
    if (!health.success || health.data.status !== "ok") return { ...base, error: "status is not ok" };
    const { model, revision } = health.data;
    return { ...base, reachable: true, model, revision };
  } catch (error) {
    return { ...base, error: error instanceof OutboundError ? error.message : "connect failed" };
  }
}
