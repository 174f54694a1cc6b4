/**
 * The gateway under the bench, with all features on: a tenant with a weight, a cap on concurrent requests, tokens per
 * minute and budgets in tokens and money, a key with a budget of its own, priced models, rows to the ledger. The limits are
 * so high that they refuse nothing; every request is checked against them and charged to them.
 */
import { join } from "node:path";
import { type StackOptions, startStack } from "../../infra/local/stack.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { waitFor } from "../harness/wait-for.ts";
import { LOADS } from "./loads.ts";
import { BENCH_KEYWORDS } from "./prose.ts";
import { benchModelOf } from "./targets.ts";

/** More than any load has requests at once. */
const SLOTS = 4096;
const FAR_TOKENS = 1e15;
const FAR_USD = 1e6;
const MINTED_AT_ONCE = 8;
/** While new rows arrive, the ledger is read again after this pause. */
const ROWS_PAUSE_MS = 6_000;

export type Governed = Awaited<ReturnType<typeof startGoverned>>;

const GUARDRAILS = {
  action: "block",
  input_scanners: ["prompt_injection", "pii", "ban_keywords"],
  ban_keywords: BENCH_KEYWORDS,
};

const SWITCHED_OFF = { compression: { enabled: false } };

/** @param policies by the last step of their path */
async function mint(gateway: Gateway, name: string, policies: Readonly<Record<string, object>> = {}): Promise<string> {
  const tenant = await gateway.must<Tenant>("POST", "/tenants", { name, weight: 100 });
  const one = `/tenants/${tenant.id}`;
  await gateway.must("PUT", `${one}/quota`, { tokens_per_minute: FAR_TOKENS, max_in_flight: SLOTS });
  const budget = { budget_tokens: FAR_TOKENS, budget_cost_usd: FAR_USD, budget_period: "monthly" };
  await gateway.must("PATCH", `${one}/budget`, budget);
  for (const [path, policy] of Object.entries(policies)) await gateway.must("PATCH", `${one}/${path}`, { policy });
  return (await gateway.must<CreatedKey>("POST", `${one}/keys`, { name, ...budget })).secret;
}

/**
 * Starts the stack in `folder` and registers a model for every load; each model leads to its behaviour of the upstream at
 * `origin`.
 */
export async function startGoverned(
  folder: string,
  origin: string,
  { workers = 1, ...how }: Pick<StackOptions, "workerEntry" | "inspect"> & { readonly workers?: number } = {},
) {
  // One tenant asks for every slot of a load: none is kept for others.
  const more = {
    GATEWAY_GLOBAL_MAX_IN_FLIGHT: String(SLOTS),
    GATEWAY_CELL_HEADROOM: "0",
    GATEWAY_WORKERS: String(workers),
  };
  const stack = await startStack({ env: stackEnv(join(folder, "stack"), more), ...how });
  const gateway = new Gateway(stack);
  const byModel = new Map(LOADS.map((load) => [benchModelOf(load), load]));
  for (const [model_name, load] of byModel)
    await gateway.must("POST", "/models", {
      model_name,
      upstream_model: model_name,
      api_base: `${origin}/${load.behaviour}/v1`,
      api_dialect: load.behaviour === "messages" ? "anthropic" : "openai",
      input_cost_per_token: 0.000_001,
      output_cost_per_token: 0.000_002,
      ...(load.freshShare === null ? {} : { cache_enabled: true, cache_ttl_secs: 3600 }),
    });
  const secret = await mint(gateway, "bench");
  const guarded = await mint(gateway, "bench-guarded", { guardrails: GUARDRAILS });
  const switchedOff = await mint(gateway, "bench-switched-off", SWITCHED_OFF);
  let many: readonly string[] = [];
  return {
    stack,
    gateway,
    /** The key of the one tenant. */
    secret,
    /** The key of a tenant like it, whose prompts are scanned for injections, personal data and 100 keywords. */
    guarded,
    /** The key of a tenant like it, which has every policy, and each of them is switched off. */
    switchedOff,
    /** Keys of `count` more tenants, made once. */
    mintMany: async (count: number): Promise<readonly string[]> => {
      const names = Array.from({ length: count - many.length }, (_, at) => `bench-${many.length + at}`);
      const secrets: string[] = [];
      const minter = async (): Promise<void> => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) secrets.push(await mint(gateway, name));
      };
      await Promise.all(Array.from({ length: MINTED_AT_ONCE }, minter));
      many = [...many, ...secrets];
      return many;
    },
    /** Sets the number of slots of the cell; null: the number that all other loads have. */
    setSlots: async (slots: number | null): Promise<void> => {
      await gateway.must("PUT", "/capacity", { max_in_flight: slots });
    },
    /** Waits until the ledger has this many requests; returns how many it has in the end. */
    rows: async (expected: number): Promise<number> => {
      const count = async (): Promise<number> => {
        const models = await gateway.must<readonly { readonly requests: number }[]>("GET", "/usage/models");
        return models.reduce((sum, { requests }) => sum + requests, 0);
      };
      for (let found = await count(); found < expected; ) {
        const before = found;
        found = await waitFor(count, (now) => now > before, ROWS_PAUSE_MS).catch(() => before);
        if (found === before) break;
      }
      return await count();
    },
  };
}
