/**
 * The alerts of a budget object until they are in hands that outlive a Cell. Each is told to one cell, and to another only when
 * that one has said nothing of it for a while. Times are of the object's MonotonicClock.
 */
import { issues } from "../../../shared/alerts.ts";
import type { BudgetAlert } from "./alerts.ts";

/** An alert that a cell was told of is told to no other for this long after its last word: that one sees to it. */
const HELD_MS = 60_000;

export class UndeliveredAlerts {
  readonly #alerts: Map<string, BudgetAlert>;
  /** By alert: the cell that sees to it. */
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
   * Adds the alert of a number that is no amount and was refused (docs/rules/budgets.md#amounts), unless one waits
   * already. `nowMs` is a part of its id, so that it is told again when it happens again.
   */
  addRefused(field: string, consequence: string, nowMs: number): void {
    const issue = issues.budgetAmountRefused("budget object", field, consequence);
    const waits = this.all.some(({ issueKey }) => issueKey === issue.issueKey);
    if (!waits) this.add({ id: `${issue.issueKey}@${nowMs}`, ...issue });
  }

  /** A cell says that an alert is safe; whether that was news. */
  acknowledge(id: string): boolean {
    this.#held.delete(id);
    return this.#alerts.delete(id);
  }

  /** Those that no other cell sees to: from now on this one does. */
  assignTo(cell: string, atMs: number): readonly BudgetAlert[] {
    const own = this.all.filter(({ id }) => {
      const held = this.#held.get(id);
      return held === undefined || held.cell === cell || held.untilMs <= atMs;
    });
    for (const { id } of own) this.#held.set(id, { cell, untilMs: atMs + HELD_MS });
    return own;
  }
}
