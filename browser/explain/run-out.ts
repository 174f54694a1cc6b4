/** When a budget runs out, and what would make it last, in words (docs/rules/budgets.md#run-out). Pure. */
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { explainTexts } from "../messages/en/explain.ts";
import { texts } from "../messages/texts.ts";
import { formatAge, formatDate, instantOf } from "../time/instants.ts";
import { formatShortCount, formatUsd } from "../ui/format.ts";

const text = texts("explain", explainTexts);

type Usage = Pick<
  BudgetUsage,
  | "state"
  | "budget_tokens"
  | "budget_cost_usd"
  | "tokens_per_day"
  | "cost_usd_per_day"
  | "period_end"
  | "runs_out_at"
  | "runs_out_by"
  | "limit_to_last"
  | "per_day_to_last"
>;

interface RunOutWords {
  /** The use per day of what is limited. */
  readonly rate: string;
  /** When it runs out, or that it lasts. */
  readonly when: string;
  /** What would make it last; "" when it lasts, or its period has no end. */
  readonly toLast: string;
}

/** In a few words, for a table; the zone is the tenant's. */
export function runOutWords(usage: Usage, zone: string, nowMs: number): RunOutWords {
  const rate = rateOf(usage);
  const outMs = instantOf(usage.runs_out_at);
  const whenOf = (): string => {
    if (usage.state === "exhausted") return text("budgetUsedUp");
    if (outMs !== null) return text("runsOutOn", { day: formatDate(zone, outMs), age: formatAge(nowMs, outMs) });
    if (rate === null) return text("rateUnknown");
    if (usage.state === "warned") return text("budget_warned");
    const endMs = instantOf(usage.period_end);
    return endMs === null ? text("budgetLastsLong") : text("budgetLasts", { day: formatDate(zone, endMs) });
  };
  return { rate: rate ?? text("rateUnknown"), when: whenOf(), toLast: limitOf(usage) };
}

/** In sentences; null: nothing is limited, or the rate is not known. */
export function runOutSentence(usage: Usage, zone: string, nowMs: number): string | null {
  const rate = rateOf(usage);
  if (rate === null || (usage.budget_tokens === null && usage.budget_cost_usd === null)) return null;
  const outMs = instantOf(usage.runs_out_at);
  if (outMs === null)
    return text(usage.period_end === null ? "rateLastsLong" : usage.state === "warned" ? "rateTight" : "rateLasts", {
      rate,
    });
  const said =
    usage.state === "exhausted"
      ? text("rateUsedUp", { rate })
      : text("rateRunsOut", { rate, day: formatDate(zone, outMs), age: formatAge(nowMs, outMs) });
  if (usage.limit_to_last === null) return said;
  const perDay = usage.per_day_to_last;
  const rest = perDay === null || perDay === 0 ? "" : ` ${text("orLess", { amount: amountOf(usage, perDay) })}`;
  return `${said} ${text("limitToLast", { amount: limitOf(usage) })}${rest}`;
}

/** The use per day of the limit that is reached first, else of those that are set. */
function rateOf(usage: Usage): string | null {
  const { tokens_per_day: tokens, cost_usd_per_day: usd, runs_out_by, budget_tokens, budget_cost_usd } = usage;
  const rates = [
    tokens !== null && budget_tokens !== null && runs_out_by !== "cost_usd" ? tokensText(tokens) : null,
    usd !== null && budget_cost_usd !== null && runs_out_by !== "tokens" ? formatUsd(usd) : null,
  ].filter((rate) => rate !== null);
  return rates.length === 0 ? null : text("perDay", { amount: rates.join(", ") });
}

const limitOf = (usage: Usage): string => (usage.limit_to_last === null ? "" : amountOf(usage, usage.limit_to_last));
const amountOf = ({ runs_out_by }: Usage, amount: number): string =>
  runs_out_by === "cost_usd" ? formatUsd(amount) : tokensText(amount);
const tokensText = (tokens: number): string => text("tokensShort", { tokens: formatShortCount(tokens) });
