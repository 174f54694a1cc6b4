/**
 * A small world for tests of the budgets: one authority with its storage, some cells with wallets, a ledger, and calls
 * between them that a test delivers, repeats, delays or loses. Keeps the sums that the invariants speak of.
 */
import { type Actual, type Amounts, NOTHING, plus } from "../amounts.ts";
import type { LeaseAnswer, LeaseRequest, Report, ReportAnswer } from "../api.ts";
import type { BudgetLimits } from "../limits.ts";
import { type Checkpoint, type GrantRow, NOTHING_STORED, type StoredEpoch, type StoredKey } from "../stored.ts";
import { TenantBudgetCore } from "../tenant-budget.ts";
import type { Verdict, WalletEffect } from "../verdict.ts";
import { Wallet } from "../wallet.ts";

/** Months of 30 days, the same in every zone. */
export const monthOf = (epochMs: number): string => String(Math.floor(epochMs / (30 * 86_400_000)));

/** A call on its way: the caller hears one outcome, the authority may see it any number of times. */
export interface Call {
  readonly cell: Cell;
  readonly wallet: Wallet;
  readonly body:
    | { readonly kind: "lease"; readonly request: LeaseRequest }
    | { readonly kind: "report"; readonly report: Report };
  open: boolean;
}

export interface Live {
  readonly id: string;
  readonly limits: BudgetLimits;
  readonly need: Amounts;
}

export interface Cell {
  readonly name: string;
  epoch: number;
  wallet: Wallet;
  readonly waiting: Map<string, Live>;
  readonly live: Map<string, Live>;
}

export class World {
  nowMs = 1_000_000;
  core = new TenantBudgetCore(NOTHING_STORED, monthOf, this.nowMs);
  readonly cells: Cell[];
  calls: Call[] = [];
  readonly verdicts = new Map<string, Verdict>();
  readonly alerts: string[] = [];
  /** What requests drew and hold, what finished ones used, and by how much they used more than they had drawn. */
  settled: Actual = { tokens: 0, nanoUsd: 0 };
  settledRate = 0;
  overuse: Actual = { tokens: 0, nanoUsd: 0 };
  largest: Amounts = NOTHING;
  ledger: Actual = { tokens: 0, nanoUsd: 0 };
  #orphans: Amounts = NOTHING;
  #requests = 0;
  #tenant: Checkpoint["tenant"] | null = null;
  readonly #keys = new Map<string, StoredKey>();
  readonly #epochs = new Map<string, StoredEpoch>();
  readonly #grants = new Map<string, GrantRow>();

  constructor(cells: number) {
    this.cells = Array.from({ length: cells }, (_, index) => ({
      name: `cell-${index}`,
      epoch: 1,
      wallet: new Wallet(`cell-${index}`, 1, monthOf),
      waiting: new Map<string, Live>(),
      live: new Map<string, Live>(),
    }));
  }

  cell(index: number): Cell {
    const cell = this.cells[index % this.cells.length];
    if (cell === undefined) throw new Error("a world without cells");
    return cell;
  }

  /** Takes the oldest call off the wire. */
  nextCall(): Call {
    const call = this.calls.shift();
    if (call === undefined) throw new Error("nothing was said");
    return call;
  }

  /** Sum of what live requests hold, those of dead cells included. */
  get drawn(): Amounts {
    return this.cells
      .flatMap((cell) => [...cell.live.values()])
      .reduce((sum, { need }) => plus(sum, need), this.#orphans);
  }

  reserve(cell: Cell, limits: BudgetLimits, need: Amounts): string {
    this.#requests += 1;
    const id = `r${this.#requests}`;
    cell.waiting.set(id, { id, limits, need });
    this.run(cell, cell.wallet.reserve(id, limits, need, this.nowMs));
    return id;
  }

  settle(cell: Cell, id: string, used: Actual): void {
    const live = cell.live.get(id);
    if (live === undefined) return;
    cell.live.delete(id);
    cell.wallet.settle(id, used, this.nowMs);
    cell.wallet.settle(id, used, this.nowMs);
    this.#count(live.need, used);
    this.run(cell, cell.wallet.tick(this.nowMs));
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.core.tick(this.nowMs);
    for (const cell of this.cells) this.run(cell, cell.wallet.tick(this.nowMs));
  }

  run(cell: Cell, effects: readonly WalletEffect[]): void {
    for (const effect of effects) {
      const { wallet } = cell;
      if (effect.type === "ask") {
        this.calls.push({ cell, wallet, body: { kind: "lease", request: effect.request }, open: true });
      } else if (effect.type === "report") {
        this.calls.push({ cell, wallet, body: { kind: "report", report: effect.report }, open: true });
      } else if (effect.type === "alert") {
        this.alerts.push(effect.alert.id);
        wallet.alertSafe(effect.alert.id);
      } else {
        this.#decided(cell, effect.requestId, effect.verdict);
      }
    }
  }

  /** The authority sees a call. A lease it denies must leave everything as it was. */
  process(call: Call): LeaseAnswer | ReportAnswer {
    if (call.body.kind === "report") return this.core.settle(call.body.report, this.nowMs);
    const { request } = call.body;
    this.core.settle(request.report, this.nowMs);
    const before = this.facts(request.limits);
    const { answer, grant } = this.core.lease(request, this.nowMs);
    if (grant !== null) this.#grants.set(JSON.stringify([grant.cell, grant.epoch, grant.purse]), grant);
    if (answer.verdict.kind !== "granted" && this.facts(request.limits) !== before)
      throw new Error("a denial changed something");
    return answer;
  }

  facts(limits: BudgetLimits): string {
    const { core, nowMs } = this;
    return JSON.stringify([
      core.read("tenant", limits, nowMs),
      core.read("key", limits, nowMs),
      core.bucket(limits, nowMs),
    ]);
  }

  /** The caller hears the answer; the call may still be repeated to the authority. */
  deliver(call: Call): void {
    const answer = this.process(call);
    if (!call.open) return;
    call.open = false;
    const { body, wallet, cell } = call;
    if (wallet !== cell.wallet) return;
    const effects =
      body.kind === "lease"
        ? wallet.answered(body.request, answer as LeaseAnswer, this.nowMs)
        : wallet.reported(body.report, answer as ReportAnswer, this.nowMs);
    this.run(cell, effects);
  }

  /** The caller gives up; the authority may or may not see the call, now or later. */
  fail(call: Call): void {
    if (!call.open) return;
    call.open = false;
    const { body, wallet, cell } = call;
    if (wallet !== cell.wallet) return;
    if (body.kind === "lease") this.run(cell, wallet.failed(body.request, this.nowMs));
    else wallet.reportFailed(this.nowMs);
  }

  checkpoint(): void {
    const checkpoint = this.core.checkpoint();
    this.#tenant = checkpoint.tenant;
    for (const key of checkpoint.keys) this.#keys.set(key.limits.id, key);
    for (const epoch of checkpoint.epochs) this.#epochs.set(`${epoch.cell}/${epoch.epoch}`, epoch);
    for (const { cell, epoch } of checkpoint.forgotten) {
      this.#epochs.delete(`${cell}/${epoch}`);
      for (const [id, row] of this.#grants) if (row.cell === cell && row.epoch === epoch) this.#grants.delete(id);
    }
    this.core.stored(checkpoint);
  }

  crashAuthority(): void {
    const stored = {
      tenant: this.#tenant,
      keys: [...this.#keys.values()],
      epochs: [...this.#epochs.values()],
      grants: [...this.#grants.values()],
    };
    this.core = new TenantBudgetCore(structuredClone(stored), monthOf, this.nowMs);
  }

  /** A cell dies with its wallet. Its requests go on in the next life of it, or end unheard: only the ledger has them. */
  crashCell(cell: Cell, adopts: boolean): void {
    cell.epoch += 1;
    cell.wallet = new Wallet(cell.name, cell.epoch, monthOf);
    cell.waiting.clear();
    for (const live of cell.live.values()) {
      if (adopts) cell.wallet.adopt(live.id, live.limits, live.need, this.nowMs);
      else this.#end(live);
    }
    if (!adopts) cell.live.clear();
  }

  /** The authority asks the ledger about whoever awaits it. */
  askLedger(limits: BudgetLimits): void {
    if (this.core.awaitsLedger(this.nowMs).length === 0) return;
    for (const whose of ["tenant", "key"] as const) {
      const { account } = this.core.read(whose, limits, this.nowMs);
      this.core.ledgerSays(whose, limits, account.tag, this.ledger, this.nowMs);
    }
    this.core.ledgerSettled(this.nowMs);
  }

  /** Everything is delivered in order, and time passes, until nothing more is said. */
  calm(ms: number): void {
    const until = this.nowMs + ms;
    while (this.nowMs < until) {
      while (this.calls.length > 0) this.deliver(this.nextCall());
      this.advance(250);
    }
  }

  #end(live: Live): void {
    const used = { tokens: live.need.termTokens, nanoUsd: live.need.nanoUsd };
    this.ledger = { tokens: this.ledger.tokens + used.tokens, nanoUsd: this.ledger.nanoUsd + used.nanoUsd };
    this.#orphans = plus(this.#orphans, live.need);
  }

  #count(need: Amounts, used: Actual): void {
    const add = (a: Actual, tokens: number, nanoUsd: number): Actual => ({
      tokens: a.tokens + tokens,
      nanoUsd: a.nanoUsd + nanoUsd,
    });
    this.settled = add(this.settled, used.tokens, used.nanoUsd);
    this.settledRate += Math.min(used.tokens, need.bucketTokens);
    this.ledger = add(this.ledger, used.tokens, used.nanoUsd);
    this.overuse = add(
      this.overuse,
      Math.max(0, used.tokens - need.termTokens),
      Math.max(0, used.nanoUsd - need.nanoUsd),
    );
  }

  #decided(cell: Cell, id: string, verdict: Verdict): void {
    const waiting = cell.waiting.get(id);
    if (waiting === undefined) throw new Error(`${id} was decided twice`);
    cell.waiting.delete(id);
    this.verdicts.set(id, verdict);
    if (verdict.kind !== "ok") return;
    cell.live.set(id, waiting);
    const { bucketTokens, termTokens, nanoUsd } = waiting.need;
    this.largest = {
      bucketTokens: Math.max(this.largest.bucketTokens, bucketTokens),
      termTokens: Math.max(this.largest.termTokens, termTokens),
      nanoUsd: Math.max(this.largest.nanoUsd, nanoUsd),
    };
  }
}

export interface Caps {
  readonly tokensPerMinute?: number;
  readonly tenantTokens?: number | null;
  readonly tenantNanoUsd?: number | null;
  readonly keyTokens?: number | null;
  readonly keyNanoUsd?: number | null;
  readonly rev?: number;
}

export function limitsWith(caps: Caps): BudgetLimits {
  const rev = caps.rev ?? 1;
  const term = { period: null, startedAtMs: null } as const;
  return {
    tenant: {
      id: "tenant-1",
      name: "Acme",
      rev,
      timezone: "UTC",
      tokensPerMinute: caps.tokensPerMinute ?? 0,
      term: { ...term, tokens: caps.tenantTokens ?? null, nanoUsd: caps.tenantNanoUsd ?? null },
    },
    key: {
      id: "key-1",
      label: "main",
      rev,
      term: { ...term, tokens: caps.keyTokens ?? null, nanoUsd: caps.keyNanoUsd ?? null },
    },
  };
}
