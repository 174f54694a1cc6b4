/**
 * The budget objects of tenants, as the internal routes use them (shared/wire/internal-budgets.ts). Reads and rebuilds only:
 * leases and settlements are between an object and the Cells.
 */
import type { ResolvedTenant } from "../../../shared/records.ts";
import type { BudgetRead, BudgetSubject } from "../../../shared/wire/internal-budgets.ts";
import { endUserLimitsOf, limitsOf } from "../../domain/budget/limits.ts";
import type { TenantBudgetApi } from "../../domain/budget/messages/rpc.ts";
import type { ObjectStubs } from "./object-stubs.ts";

export class TenantBudgetClient {
  readonly #stubs: ObjectStubs;

  constructor(stubs: ObjectStubs) {
    this.#stubs = stubs;
  }

  /** Throws when the object cannot be reached. */
  async usage(subject: BudgetSubject): Promise<BudgetRead> {
    const { tenant, key } = subject;
    return await this.#of(subject).usage(whose(subject), limitsOf(key, tenant), tenant.active_until_ms);
  }

  /**
   * The same for an end user; null: the request names nobody, the tenant has no budget for end users, or nothing is kept of
   * this one.
   */
  async endUserUsage(endUser: string, tenant: ResolvedTenant): Promise<BudgetRead | null> {
    const limits = endUserLimitsOf(endUser, tenant);
    if (limits === null) return null;
    return await this.#stubs.budget(limits.tenant.id).endUserUsage(limits, tenant.active_until_ms);
  }

  /**
   * How many of these subjects were compared with the ledger; a subject whose object could not be reached is not
   * counted.
   */
  async rebuild(subjects: readonly BudgetSubject[]): Promise<number> {
    const answers = await Promise.allSettled(
      subjects.map(
        async (subject) => await this.#of(subject).rebuild(whose(subject), limitsOf(subject.key, subject.tenant)),
      ),
    );
    return answers.filter((answer) => answer.status === "fulfilled" && answer.value).length;
  }

  #of({ tenant }: BudgetSubject): TenantBudgetApi {
    return this.#stubs.budget(tenant.id);
  }
}

function whose({ key }: BudgetSubject): "tenant" | "key" {
  return key === null ? "tenant" : "key";
}
