/**
 * Budget objects for tests of a Cell's parts: the real authority in memory, behind calls that a test can make fail or
 * never answer.
 */

import { TenantBudgetAuthority } from "../../../../edge/domain/budget/authority/tenant-budget-authority.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import type {
  BudgetReport,
  LeaseAnswer,
  LeaseRequest,
  ReportAnswer,
  TenantBudgetApi,
} from "../../../../edge/domain/budget/messages/rpc.ts";
import { type BucketLevel, bucketsIn, tightestLevel } from "../../../../edge/domain/budget/token-bucket.ts";
import { NOTHING_STORED } from "../budget/simulated-disk.ts";
import { thirtyDayMonthOf } from "../budget/simulation.ts";

type Reach = "up" | "down" | "silent";

export class TestBudgets {
  reach: Reach = "up";
  /** Calls that fail before the next one arrives, while above 0. */
  failNext = 0;
  /** Calls that arrive but whose answers are lost. */
  loseNext = 0;
  /** While it is set, lease requests wait for it before they are decided. */
  ledger: Promise<undefined> | null = null;
  calls = 0;
  readonly #now: () => number;
  readonly #cores = new Map<string, TenantBudgetAuthority>();

  constructor(now: () => number) {
    this.#now = now;
  }

  core(tenantId: string): TenantBudgetAuthority {
    const known = this.#cores.get(tenantId) ?? new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, this.#now());
    this.#cores.set(tenantId, known);
    return known;
  }

  budgetOf(tenantId: string): Pick<TenantBudgetApi, "lease" | "report" | "level" | "limitsChanged"> {
    const core = this.core(tenantId);
    return {
      lease: async (request: LeaseRequest): Promise<LeaseAnswer> => {
        await this.ledger;
        return await this.#answer(() => core.lease(request, this.#now()).answer);
      },
      report: async (report: BudgetReport): Promise<ReportAnswer> =>
        await this.#answer(() => {
          const answer = core.report(report, this.#now());
          core.checkpoint();
          return answer;
        }),
      limitsChanged: async (limits) => await this.#answer(() => core.limitsChanged(limits, this.#now())),
      level: async (limits: BudgetLimits): Promise<BucketLevel | null> =>
        await this.#answer(() => tightestLevel(bucketsIn(core.buckets(limits, this.#now())))),
    };
  }

  async #answer<T>(work: () => T): Promise<T> {
    this.calls += 1;
    if (this.reach === "silent") return await new Promise<T>(() => {});
    if (this.failNext > 0 || this.reach === "down") {
      this.failNext -= 1;
      throw new Error("beyond reach");
    }
    const answer = work();
    if (this.loseNext > 0) {
      this.loseNext -= 1;
      throw new Error("the answer is lost");
    }
    return answer;
  }
}
