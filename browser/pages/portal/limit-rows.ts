/** What limits a tenant's requests: how much is allowed, how much is left, and when it resets. Pure. */
import type { Records } from "../../data/api.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { resetSentence } from "../../time/next-reset.ts";
import { formatCount, formatUsd } from "../../ui/format.ts";

const text = texts("portal", portalTexts);

type Rates = Pick<Records["Tenant"], "tokens_per_minute" | "requests_per_minute">;
type Terms = Rates &
  Pick<
    Records["Tenant"],
    "max_in_flight" | "end_user_budget_tokens" | "end_user_budget_cost_usd" | "end_user_budget_period"
  >;

/** One limit in words. */
export interface LimitRow {
  readonly id: "tokens" | "usd" | "userTokens" | "userUsd" | "tokensPerMinute" | "requestsPerMinute" | "concurrency";
  readonly allowed: string;
  /** What of it can still be used. */
  readonly left: string;
  /** When it resets, or what happens to requests beyond it. */
  readonly resets: string;
}

/** All limits of a tenant, also those that are not set. `usage`: null while it is not known. */
export function limitRows(
  tenant: Terms,
  usage: Records["BudgetUsage"] | null,
  zone: string,
  nowMs: number,
): readonly LimitRow[] {
  const none = text("noLimit");
  const unknown = formatCount(null);
  const resets = usage === null ? unknown : resetSentence(usage, zone, nowMs);
  const budget = (
    id: "tokens" | "usd",
    cap: number | null | undefined,
    left: number | null | undefined,
    format: (amount: number | null | undefined) => string,
  ): LimitRow =>
    cap === null
      ? { id, allowed: none, left: none, resets: "" }
      : { id, allowed: format(cap), left: format(left), resets };
  const ofUser = (id: "userTokens" | "userUsd", cap: number | null, format: (amount: number) => string): LimitRow[] =>
    cap === null
      ? []
      : [
          {
            id,
            allowed: format(cap),
            left: text("leftOfUser"),
            resets: text(`every_${tenant.end_user_budget_period ?? "lifetime"}`),
          },
        ];
  const rate = (id: "tokensPerMinute" | "requestsPerMinute", cap: number): LimitRow =>
    cap === 0
      ? { id, allowed: none, left: none, resets: "" }
      : { id, allowed: formatCount(cap), left: text("leftInHeaders"), resets: text("refills") };
  return [
    budget("tokens", usage?.budget_tokens, usage?.remaining_tokens, formatCount),
    budget("usd", usage?.budget_cost_usd, usage?.remaining_cost_usd, formatUsd),
    ...ofUser("userTokens", tenant.end_user_budget_tokens, formatCount),
    ...ofUser("userUsd", tenant.end_user_budget_cost_usd, formatUsd),
    rate("tokensPerMinute", tenant.tokens_per_minute),
    rate("requestsPerMinute", tenant.requests_per_minute),
    tenant.max_in_flight === null
      ? { id: "concurrency", allowed: none, left: none, resets: "" }
      : {
          id: "concurrency",
          allowed: text("slotsEach", { count: tenant.max_in_flight }),
          left: text("leftAsTheyEnd"),
          resets: text("queued"),
        },
  ];
}

/** The limits per minute of a key, in words. */
export function keyRates({ tokens_per_minute, requests_per_minute }: Rates): string {
  const parts = [
    ...(tokens_per_minute > 0 ? [text("perMinuteTokens", { count: tokens_per_minute })] : []),
    ...(requests_per_minute > 0 ? [text("perMinuteRequests", { count: requests_per_minute })] : []),
  ];
  return parts.length === 0 ? text("noLimit") : parts.join(", ");
}
