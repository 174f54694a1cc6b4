import { useQuery } from "@tanstack/react-query";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { read } from "../../data/reads.ts";
import { sumCostUsd } from "../../forms/usage/row-cost.ts";
import { commonText } from "../../messages/common.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount } from "../../ui/format.ts";
import { Usd } from "../../ui/usd.tsx";
import classes from "./logs-page.module.css";
import { isOver, type LogsQuery } from "./logs-query.ts";

const text = texts("logs", logsTexts);
const EVERY_MS = 15_000;

interface LogTotalsProps {
  readonly query: LogsQuery;
  /** Whether the list has been read: sums of a long period would keep the store from answering it. */
  readonly isListed: boolean;
}

/** Sums of everything that the filters select, of which the list shows the beginning. */
export function LogTotals({ query, isListed }: LogTotalsProps) {
  const { label } = useZone();
  const options = read(
    "/api/v1/usage/logs/totals",
    { params: { query } },
    { enabled: isListed, ...(isOver(query, useNow(QUARTER_MS)) ? {} : { everyMs: EVERY_MS }) },
  );
  const { data, error, isPlaceholderData } = useQuery(options);
  const sums = isPlaceholderData ? undefined : data;
  return (
    <section className={classes["totals"]} aria-label={text("totalsLabel")}>
      {error !== null && (
        <span role="alert">
          {text("totalsFailed")} <code>{error.code}</code>
        </span>
      )}
      <strong>{text("total", { requests: sums?.requests ?? Number.NaN })}</strong>
      <span>{text("totalFailed", { failed: sums?.failed_requests ?? Number.NaN })}</span>
      <span>{text("totalRefused", { refused: sums?.refused_requests ?? Number.NaN })}</span>
      <span>{text("totalTokens", { tokens: formatCount(sums?.total_tokens) })}</span>
      <span>
        <Usd usd={sumCostUsd(sums)} />
      </span>
      <span className={classes["muted"]}>{commonText("timesIn", { zone: label })}</span>
    </section>
  );
}
