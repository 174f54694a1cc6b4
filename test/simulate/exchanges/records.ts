/**
 * The records of the simulation of exchanges: tenants with one key each, models, one group. The store has the newest
 * record, an isolate has copies that may be older; an admission request states the revisions of the copies that it was
 * built from.
 */
import type { AdmissionRequest } from "../../../edge/domain/admission/rpc.ts";
import { limitsOf } from "../../../edge/domain/budget/limits.ts";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import type { Change, RevItem } from "../../../shared/wire/internal.ts";
import { admissionRequestOf } from "../../harness/edge/cell/admission-requests.ts";
import { keyOf, tenantOf } from "../../harness/edge/pipeline/records.ts";

/** The tokens that a request reserves, which is also the most that it uses. */
export const NEED_TOKENS = 10;
export const NEED_NANO_USD = 1_000;

export interface Tenant {
  readonly maxInFlight: number | null;
  readonly tokensPerMinute: number;
  readonly termTokens: number | null;
}

interface Copy {
  readonly rev: number;
  readonly tenant?: Tenant;
  readonly maxInFlight?: number | null;
}

export type Kind = "key" | "tenant" | "group" | "model" | "all";

export const nameOf = ({ kind, id }: Pick<RevItem, "kind" | "id">): string => `${kind}:${id}`;

export class Records {
  readonly #copies = new Map<string, Copy>();
  #rev = 1;

  constructor(tenants: readonly Tenant[], modelCaps: readonly (number | null)[]) {
    for (const [at, tenant] of tenants.entries()) {
      this.#copies.set(`tenant:t${at}`, { rev: 1, tenant });
      this.#copies.set(`key:k${at}`, { rev: 1 });
    }
    for (const [at, maxInFlight] of modelCaps.entries()) this.#copies.set(`model:m${at}`, { rev: 1, maxInFlight });
    this.#copies.set("group:g", { rev: 1 });
    this.#copies.set("all:*", { rev: 1 });
  }

  get(name: string): Copy {
    const copy = this.#copies.get(name);
    if (copy === undefined) throw new Error(`no record ${name}`);
    return copy;
  }

  /** Writes a new revision of a record; `maxInFlight` is its cap where it has one. */
  change(kind: Kind, id: string, maxInFlight: number | null): Change {
    this.#rev += 1;
    const old = this.get(`${kind}:${id}`);
    const rev = this.#rev;
    const copy: Copy = {
      rev,
      ...(old.tenant === undefined ? {} : { tenant: { ...old.tenant, maxInFlight } }),
      ...(old.maxInFlight === undefined ? {} : { maxInFlight }),
    };
    this.#copies.set(`${kind}:${id}`, copy);
    const base = { kind, id, rev };
    if (kind === "model")
      return { ...base, model: { max_in_flight: maxInFlight, admission_weight: 100, adaptive: null } };
    if (copy.tenant === undefined) return base;
    return {
      ...base,
      tenant: {
        weight: 100,
        max_in_flight: maxInFlight,
        group: { name: "g", weight: 100 },
      },
    };
  }
}

/** The copies of the records in the memory of one isolate. */
export class Copies {
  readonly #store: Records;
  readonly #known = new Map<string, Copy>();

  constructor(store: Records) {
    this.#store = store;
  }

  forget(items: readonly RevItem[]): void {
    for (const item of items) this.#known.delete(nameOf(item));
  }

  admissionRequest(requestId: string, tenantAt: number, modelAt: number, nowMs: number): AdmissionRequest {
    const names = [`key:k${tenantAt}`, `tenant:t${tenantAt}`, "group:g", `model:m${modelAt}`, "all:*"];
    const revs = names.map((name) => {
      const [kind, id] = name.split(":") as [Kind, string];
      return { kind, id, rev: this.#get(name).rev };
    });
    const tenant = this.#get(`tenant:t${tenantAt}`);
    const facts = tenantFacts(`t${tenantAt}`, tenant.tenant ?? NO_CAPS, tenant.rev);
    const row = { ...zeroUsageRow(requestId, nowMs), tenant_id: `t${tenantAt}`, model: `m${modelAt}` };
    const { maxInFlight = null } = this.#get(`model:m${modelAt}`);
    return admissionRequestOf(requestId, facts.id, {
      tenant: { id: facts.id, name: facts.name, weight: 100, maxInFlight: tenant.tenant?.maxInFlight ?? null },
      group: { name: "g", weight: 100 },
      model: { name: `m${modelAt}`, admissionWeight: 100, maxInFlight },
      costTokens: NEED_TOKENS,
      revs,
      row,
      limits: limitsOf(keyOf({ key_id: `k${tenantAt}`, rev: this.#get(`key:k${tenantAt}`).rev }), facts),
      need: { bucketTokens: NEED_TOKENS, termTokens: NEED_TOKENS, nanoUsd: NEED_NANO_USD },
      estimate: { inputTokens: 4, outputTokens: NEED_TOKENS - 4, costUsd: NEED_NANO_USD / 1e9 },
    });
  }

  #get(name: string): Copy {
    const copy = this.#known.get(name) ?? this.#store.get(name);
    this.#known.set(name, copy);
    return copy;
  }
}

const NO_CAPS: Tenant = { maxInFlight: null, tokensPerMinute: 0, termTokens: null };

function tenantFacts(id: string, { tokensPerMinute, termTokens }: Tenant, rev: number) {
  const { budget } = tenantOf();
  const limited = termTokens === null ? budget : { ...budget, tokens: termTokens, period: "lifetime" as const };
  return tenantOf({ id, name: id, tokens_per_minute: tokensPerMinute, budget: limited, rev });
}
