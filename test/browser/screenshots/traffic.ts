/** A gateway in use, for pictures of its console: tenants, models and requests that went well, failed, wait and run. */
import type { CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { Gateway } from "../../harness/gateway.ts";
import type { TestUpstream } from "../../harness/test-upstream.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** The slots of the cell: few, so that requests wait. */
export const SLOTS = 6;

const MODELS = [
  { name: "llama-3.3-70b", behaviour: "chunks=12,pace=15" },
  { name: "qwen2.5-coder-32b", behaviour: "delay=60" },
  { name: "mistral-small", behaviour: "status=500,fails=40" },
] as const;
const TENANTS = [
  { name: "research", group: "science", weight: 200, keys: ["notebooks", "nightly"] },
  { name: "genomics", group: "science", weight: 100, keys: ["pipeline"] },
  { name: "support", group: "default", weight: 100, keys: ["chat widget"] },
  { name: "marketing", group: "default", weight: 50, keys: ["drafts"] },
] as const;
const FINISHED_REQUESTS = 120;
const LONG_STREAMS_PER_TENANT = 5;

/** A tenant of the scene, and the secrets of its keys. */
interface Caller {
  readonly tenant: Tenant;
  readonly secrets: readonly string[];
}

export type Traffic = Awaited<ReturnType<typeof startTraffic>>;

/** Fills an empty gateway; resolves when the finished requests have their rows and others wait. */
export async function startTraffic(gateway: Gateway, upstream: TestUpstream) {
  for (const { name, behaviour } of MODELS)
    await gateway.must("POST", "/models", {
      model_name: name,
      upstream_model: behaviour,
      api_base: upstream.url,
      context_window: 131_072,
      input_cost_per_token: 0.000_000_6,
      output_cost_per_token: 0.000_002_4,
    });
  await gateway.must("POST", "/models", {
    model_name: "llama-3.3-70b-long",
    upstream_model: "chunks=100000,pace=100",
    api_base: upstream.url,
  });
  const { id: managedId } = await gateway.must<Model>("POST", "/models", { model_name: "qwen2.5-72b" });
  await gateway.must("PUT", `/models/${managedId}/managed`, {
    partition: "gpu",
    gres: "gpu:4",
    launch_command: 'exec vllm serve /shared/qwen2.5-72b --host 0.0.0.0 --port "$GATEWAY_SERVING_PORT"',
    serving_port: 8000,
  });
  await gateway.must("POST", "/fairshare/groups", { name: "science", weight: 200 });
  const callers: Caller[] = [];
  for (const { keys, group, ...tenant } of TENANTS) {
    const made = await gateway.must<Tenant>("POST", "/tenants", { ...tenant, fairshare_group: group });
    await gateway.must("PATCH", `/tenants/${made.id}/budget`, { budget_period: "monthly", budget_tokens: 12_000 });
    const secrets: string[] = [];
    for (const name of keys)
      secrets.push((await gateway.must<CreatedKey>("POST", `/tenants/${made.id}/keys`, { name })).secret);
    callers.push({ tenant: made, secrets });
  }
  const ending = new AbortController();
  const ask = async (nth: number, model_name: string): Promise<void> => {
    const { secrets } = callers[nth % callers.length] as Caller;
    const caller = { secret: secrets[nth % secrets.length] ?? "", model: { model_name }, mark: `question ${nth}` };
    const answer = await gateway.chat(caller, { stream: true, signal: ending.signal });
    await answer.text();
  };
  for (let first = 0; first < FINISHED_REQUESTS; first += SLOTS)
    await Promise.all(
      Array.from({ length: SLOTS }, async (_, at) =>
        ask(first + at, MODELS[(first + at * 7) % MODELS.length]?.name ?? "").catch(() => undefined),
      ),
    );
  await waitFor(
    async () => await gateway.must<readonly object[]>("GET", "/usage/logs?limit=200"),
    (rows) => rows.length >= FINISHED_REQUESTS,
  );
  for (let nth = 0; nth < LONG_STREAMS_PER_TENANT * callers.length; nth += 1)
    void ask(nth, "llama-3.3-70b-long").catch(() => undefined);
  await waitFor(
    async () => await gateway.stats(),
    ({ in_flight, queued }) => in_flight === SLOTS && queued > SLOTS,
  );
  return {
    /** A model whose servers the gateway would start. */
    managedId,
    /** The busiest tenant. */
    tenantId: callers[0]?.tenant.id ?? "",
    /** Ends what runs. */
    end: (): void => ending.abort(),
  };
}
