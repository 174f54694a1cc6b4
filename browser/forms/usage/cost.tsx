import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatUsd, usdDecimals } from "../../ui/format.ts";
import { type Charged, rowCostUsd } from "./row-cost.ts";

const text = texts("usage", usageTexts);

interface CostProps {
  /** Null: what was used had no price. */
  readonly usd: number | null;
  readonly decimals?: number;
}

/** What something has cost, or in words that nobody knows: $0.00 would say that it was free. */
export function Cost({ usd, decimals }: CostProps) {
  return usd === null ? <span title={text("noPriceWhy")}>{text("noPrice")}</span> : formatUsd(usd, decimals);
}

interface RowCostProps {
  /** Undefined: it is not known yet. */
  readonly row: Charged | undefined;
  /** In a list: rounded. */
  readonly isShort?: boolean;
}

/** What one request has cost, with every decimal of its row unless it is to be short. */
export function RowCost({ row, isShort }: RowCostProps) {
  const usd = row === undefined ? undefined : rowCostUsd(row);
  if (usd === undefined) return formatUsd(usd);
  return isShort === true ? <Cost usd={usd} /> : <Cost usd={usd} decimals={usdDecimals([usd])} />;
}
