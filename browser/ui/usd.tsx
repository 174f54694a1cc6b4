import { formatPrice, formatUsd } from "./format.ts";

/** An amount in USD: cents from a dollar on, three significant digits below; all of its decimals on hover. */
export function Usd({ usd }: { readonly usd: number | null | undefined }) {
  const [short, whole] = [formatUsd(usd), formatPrice(usd)];
  return whole.length <= short.length ? short : <span title={whole}>{short}</span>;
}
