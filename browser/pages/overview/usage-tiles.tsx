import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { dayIn } from "../../../shared/time/zone-days.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { BUCKET_MS, dayFigures, daySummary, slowestTargets } from "../../forms/usage/day-figures.ts";
import { FigureTile } from "../../forms/usage/figure-tile.tsx";
import { overviewTexts } from "../../messages/en/overview.ts";
import { texts } from "../../messages/texts.ts";
import { daysBefore } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { formatMs, formatShare, formatShortCount, formatUsd } from "../../ui/format.ts";
import { Notice, ReadFailure } from "../../ui/states.tsx";
import classes from "./overview-page.module.css";
import { daysRead, seriesRead, summaryRead } from "./reads.ts";

const text = texts("overview", overviewTexts);
const MINUTE_MS = 60_000;

/** Requests, failures, times, tokens and money of the last day, each with the requests behind it. */
export function UsageTiles() {
  const { zone, label } = useZone();
  const nowMs = useNow(MINUTE_MS);
  const today = dayIn(zone, nowMs);
  const yesterday = daysBefore(today, 1);
  const series = useQuery(seriesRead(BUCKET_MS));
  const days = useQuery(daysRead(zone, yesterday, today));
  const summary = useQuery(summaryRead);
  const day = series.data === undefined ? null : dayFigures(series.data, nowMs);
  const now = days.data === undefined ? null : daySummary(days.data, today);
  const before = days.data === undefined ? null : daySummary(days.data, yesterday);
  const slowest = slowestTargets(now);
  const failed = [series, days].find(({ error }) => error !== null);
  const isPriced = summary.data?.has_pricing !== false;
  return (
    <section className={classes["section"]} aria-label={text("usage")}>
      <div className={classes["sectionHead"]}>
        <h2>{text("usage")}</h2>
        <p>{text("usageNote", { zone: label })}</p>
      </div>
      {failed !== undefined && <ReadFailure state={failed} />}
      {summary.data?.tenant_count === 0 && (
        <Notice>
          {text("firstSteps")} <Link to="/tenants">{text("firstStepsLink")}</Link>
        </Notice>
      )}
      <div className={classes["tiles"]} data-columns="3">
        <FigureTile
          label={text("requests")}
          isLoading={series.isPending}
          value={formatShortCount(day?.requests)}
          note={text("last24Hours")}
          target={pageTarget("/logs", {})}
          line={lineOf("requestsLine", day?.lines.requests, formatShortCount)}
        />
        <FigureTile
          label={text("failed")}
          isLoading={series.isPending}
          value={formatShortCount(day?.failed)}
          note={
            day?.requests === 0
              ? text("failedNone")
              : text("failedNote", { share: formatShare(day?.failedShare), refused: formatShortCount(day?.refused) })
          }
          target={pageTarget("/logs", { status: "failed" })}
          line={lineOf("failedLine", day?.lines.failed, formatShortCount)}
        />
        <FigureTile
          label={text("tokens")}
          isLoading={series.isPending}
          value={formatShortCount(day?.tokens)}
          note={text("last24Hours")}
          target={pageTarget("/logs", {})}
          line={lineOf("tokensLine", day?.lines.tokens, formatShortCount)}
        />
        <FigureTile
          label={text("firstToken")}
          isLoading={days.isPending}
          value={formatMs(now?.p95FirstTokenMs)}
          note={text("firstTokenNote")}
          target={slowest.firstToken}
          line={lineOf("firstTokenLine", day?.lines.firstTokenMs, formatMs)}
        />
        <FigureTile
          label={text("queueWait")}
          isLoading={days.isPending}
          value={formatMs(now?.p95QueueWaitMs)}
          note={text("queueWaitNote", { median: formatMs(now?.p50QueueWaitMs) })}
          target={slowest.queueWait}
        />
        <FigureTile
          label={text("cost")}
          isLoading={days.isPending}
          value={isPriced ? formatUsd(now?.costUsd) : formatUsd(null)}
          note={isPriced ? text("costNote", { cost: formatUsd(before?.costUsd) }) : text("costUnpriced")}
          target={pageTarget("/logs", {})}
          line={lineOf("costLine", isPriced ? day?.lines.costUsd : undefined, formatUsd)}
        />
      </div>
    </section>
  );
}

type LineText = "requestsLine" | "failedLine" | "firstTokenLine" | "tokensLine" | "costLine";

function lineOf(
  id: LineText,
  values: readonly (number | null)[] | undefined,
  format: (amount: number | null) => string,
): { readonly values: readonly (number | null)[]; readonly label: string } {
  const known = (values ?? []).filter((value) => value !== null);
  const most = known.length === 0 ? null : known.reduce((largest, value) => Math.max(largest, value), 0);
  return { values: values ?? [], label: text(id, { most: format(most) }) };
}
