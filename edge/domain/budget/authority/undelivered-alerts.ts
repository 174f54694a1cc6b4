/**
 * The alerts of a budget object until they are durable outside a Cell. Each alert is sent to one Cell, and to another one
 * only when the first has not reported about it for a while. Times are of the object's MonotonicClock.
 */
import { issues } from "../../../../shared/alerts.ts";
import type { BudgetAlert } from "../alerts.ts";

/**
 * An alert that was sent to a Cell is sent to no other for this long after that Cell's last message: the Cell handles it.
 */
const HELD_MS = 60_000;

export class UndeliveredAlerts {
  readonly #alerts: Map<string, BudgetAlert>;
  /** By alert id: the Cell that handles it. */
  readonly #held = new Map<string, { readonly cell: string; readonly untilMs: number }>();

  constructor(stored: readonly BudgetAlert[]) {
    this.#alerts = new Map(stored.map((alert) => [alert.id, alert]));
  }

  get all(): readonly BudgetAlert[] {
    return [...this.#alerts.values()];
  }

  add(alert: BudgetAlert): void {
    this.#alerts.set(alert.id, alert);
  }

  /**
   * Adds the alert of a number that is no amount and was refused (docs/rules/budgets.md#amounts), unless one waits already.
   * `nowMs` is part of its id, so that it is reported again when it happens again.
   */
  addRefused(field: string, consequence: string, nowMs: number): void {
    const issue = issues.budgetAmountRefused("budget object", field, consequence);
    const waits = this.all.some(({ issueKey }) => issueKey === issue.issueKey);
    if (!waits) this.add({ id: `${issue.issueKey}@${nowMs}`, ...issue });
  }

  /** Notes that a Cell has made an alert durable; true when that was new. */
  acknowledge(id: string): boolean {
    this.#held.delete(id);
    return this.#alerts.delete(id);
  }

  /** The alerts that no other Cell handles; from now on this Cell does. */
  assignTo(cell: string, atMs: number): readonly BudgetAlert[] {
    const own = this.all.filter(({ id }) => {
      const held = this.#held.get(id);
      return held === undefined || held.cell === cell || held.untilMs <= atMs;
    });
    for (const { id } of own) this.#held.set(id, { cell, untilMs: atMs + HELD_MS });
    return own;
  }
}
