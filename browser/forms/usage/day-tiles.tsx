/** The last 24 hours of one tenant or model in four figures, each with the view that explains it. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { formatShare, formatShortCount, formatUsd } from "../../ui/format.ts";
import { BUCKET_MS, dayFigures } from "./day-figures.ts";
import classes from "./figure-tile.module.css";
import { FigureTile } from "./figure-tile.tsx";

const text = texts("usage", usageTexts);
const EVERY_MS = 60_000;
const FAILURE_EVERY_MS = 20_000;

interface DayTilesProps {
  readonly filter: { readonly tenant_id: string } | { readonly model: string };
  /** Further tiles, before those of the day. */
  readonly children?: ReactNode;
}

export function DayTiles({ filter, children }: DayTilesProps) {
  const nowMs = useNow(EVERY_MS);
  const series = useQuery(
    read(
      "/api/v1/usage/series",
      { params: { query: { ...filter, bucket_ms: String(BUCKET_MS) } } },
      { everyMs: EVERY_MS, keepsOld: false },
    ),
  );
  const failures = useQuery(
    read(
      "/api/v1/usage/logs",
      { params: { query: { ...filter, status: "failed", limit: "1" } } },
      { everyMs: FAILURE_EVERY_MS, keepsOld: false },
    ),
  );
  const day = series.data === undefined ? null : dayFigures(series.data, nowMs);
  const last = failures.data?.[0];
  const costUsd = day?.lines.costUsd.reduce((sum, usd) => sum + usd, 0);
  const isPriced = costUsd !== 0 || day?.tokens === 0;
  const line = (label: string, values: readonly number[] | undefined) => ({ values: values ?? [], label });
  return (
    <div className={classes["tiles"]}>
      {children}
      <FigureTile
        label={text("requests24h")}
        isLoading={series.isPending}
        value={formatShortCount(day?.requests)}
        note={text("refused24h", { refused: formatShortCount(day?.refused), left: formatShortCount(day?.left) })}
        target={pageTarget("/logs", filter)}
        line={line(text("requestsLine"), day?.lines.requests)}
      />
      <FigureTile
        label={text("failed24h")}
        isLoading={series.isPending}
        value={formatShortCount(day?.failed)}
        note={
          last === undefined ? (
            text("failedShare", { share: formatShare(day?.failedShare) })
          ) : (
            <>
              {text("lastFailure", { status: last.status_code, code: last.error_code })} <Age at={last.ts_ms} />
            </>
          )
        }
        target={pageTarget("/logs", { ...filter, status: "failed" })}
        line={line(text("failedLine"), day?.lines.failed)}
      />
      <FigureTile
        label={text("spend24h")}
        isLoading={series.isPending}
        value={isPriced ? formatUsd(costUsd) : formatUsd(null)}
        note={isPriced ? "" : text("noPriceWhy")}
        target={pageTarget("/reports", filter)}
        line={line(text("spendLine"), isPriced ? day?.lines.costUsd : undefined)}
      />
    </div>
  );
}
