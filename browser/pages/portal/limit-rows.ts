/** What limits a tenant's requests: how much is allowed, how much is left, and when it resets. Pure. */
import { RATE_FIELD_NAMES, type RateField } from "../../../shared/fields/rates.ts";
import type { Records } from "../../data/api.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { resetSentence } from "../../time/next-reset.ts";
import { formatCount, formatMs, formatUsd } from "../../ui/format.ts";

const text = texts("portal", portalTexts);
const fieldText = texts("fields", fieldTexts);

type Rates = Pick<Records["Tenant"], RateField>;
type TenantLimits = Rates &
  Pick<
    Records["Tenant"],
    "max_in_flight" | "end_user_budget_tokens" | "end_user_budget_cost_usd" | "end_user_budget_period"
  >;

/** One limit in words. */
export interface LimitRow {
  readonly id: string;
  readonly name: string;
  readonly allowed: string;
  /** What is left, or where to see that. */
  readonly left: string;
  /** When it resets, or what happens to requests beyond it. */
  readonly resets: string;
  /** The current use, if known. */
  readonly now?: string;
}

/**
 * One row per limit. A limit that is not set says so, except budgets of end users, which are left out. `usage` and `load` are null
 * until they are loaded.
 */
export function limitRows(
  tenant: TenantLimits,
  usage: Records["BudgetUsage"] | null,
  load: Records["TenantLoad"] | null,
  zone: string,
  nowMs: number,
): readonly LimitRow[] {
  const none = text("noLimit");
  const unknown = formatCount(null);
  const resets = usage === null ? unknown : resetSentence(usage, zone, nowMs);
  const named = (id: "tokens" | "usd" | "userTokens" | "userUsd" | "concurrency") => ({
    id,
    name: text(`limit_${id}`),
  });
  const budget = (
    id: "tokens" | "usd",
    cap: number | null | undefined,
    left: number | null | undefined,
    format: (amount: number | null | undefined) => string,
  ): LimitRow =>
    cap === null
      ? { ...named(id), allowed: none, left: "", resets: "" }
      : { ...named(id), allowed: format(cap), left: format(left), resets };
  const endUserRow = (
    id: "userTokens" | "userUsd",
    cap: number | null,
    format: (amount: number) => string,
  ): LimitRow[] =>
    cap === null
      ? []
      : [
          {
            ...named(id),
            allowed: format(cap),
            left: text("leftOfUser"),
            resets: text(`every_${tenant.end_user_budget_period ?? "lifetime"}`),
          },
        ];
  const rate = (id: RateField): LimitRow => {
    const [cap, name] = [tenant[id], fieldText(id)];
    return cap === 0
      ? { id, name, allowed: none, left: "", resets: "" }
      : { id, name, allowed: formatCount(cap), left: text("leftInHeaders"), resets: text("refills") };
  };
  return [
    budget("tokens", usage?.budget_tokens, usage?.remaining_tokens, formatCount),
    budget("usd", usage?.budget_cost_usd, usage?.remaining_cost_usd, formatUsd),
    ...endUserRow("userTokens", tenant.end_user_budget_tokens, formatCount),
    ...endUserRow("userUsd", tenant.end_user_budget_cost_usd, formatUsd),
    ...RATE_FIELD_NAMES.map(rate),
    {
      ...named("concurrency"),
      ...(tenant.max_in_flight === null
        ? { allowed: none, left: "", resets: "" }
        : {
            allowed: text("slotsEach", { count: tenant.max_in_flight }),
            left: formatCount(load?.slots_left),
            resets: `${text("leftAsTheyEnd")}. ${text("queued")}`,
          }),
      ...(load === null ? {} : { now: currentLoad(load) }),
    },
  ];
}

/** What runs and waits, in words. */
function currentLoad({ in_flight: running, queued, oldest_wait_ms: waitMs }: Records["TenantLoad"]): string {
  const counts = text("runningNow", { running, queued });
  return waitMs === null ? counts : `${counts}, ${text("longestWait", { duration: formatMs(waitMs) })}`;
}

/** The limits per minute of a key, in words. */
export function keyRates(rates: Rates): string {
  const parts = RATE_FIELD_NAMES.filter((field) => rates[field] > 0).map(
    (field) => `${fieldText(field)}: ${formatCount(rates[field])}`,
  );
  return parts.length === 0 ? text("noLimit") : parts.join(", ");
}
