import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { Usd } from "../../ui/usd.tsx";
import { type Charged, rowCostUsd } from "./row-cost.ts";

const text = texts("usage", usageTexts);

interface CostProps {
  /** Null: what was used had no price. */
  readonly usd: number | null;
}

/** What something has cost, or in words that nobody knows: $0.00 would say that it was free. */
export function Cost({ usd }: CostProps) {
  return usd === null ? <span title={text("noPriceWhy")}>{text("noPrice")}</span> : <Usd usd={usd} />;
}

interface RowCostProps {
  /** Undefined: it is not known yet. */
  readonly row: Charged | undefined;
}

/** What one request has cost. */
export function RowCost({ row }: RowCostProps) {
  const usd = row === undefined ? undefined : rowCostUsd(row);
  return usd === undefined ? <Usd usd={usd} /> : <Cost usd={usd} />;
}
