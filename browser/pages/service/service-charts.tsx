/** How requests ended and how fast they were, over time, with marks where something was changed. */
import { useMemo } from "react";
import { TimeChart } from "../../charts/time-chart.tsx";
import { serviceTexts } from "../../messages/en/service.ts";
import { texts } from "../../messages/texts.ts";
import { SelectField } from "../../ui/fields.tsx";
import { formatMs, formatShortCount } from "../../ui/format.ts";
import { Grid, Panel } from "../../ui/layout.tsx";
import type { ServiceChange } from "./service-search.ts";
import { bucketsOf, type HealthRow } from "./service-window.ts";

const text = texts("service", serviceTexts);

/** In the colours of the page of requests. */
const OUTCOMES = [
  { id: "served", field: "served_requests", color: "var(--series-1)" },
  { id: "refused", field: "refused_requests", color: "var(--series-2)" },
  { id: "failed", field: "failed_requests", color: "var(--bad)" },
  { id: "left", field: "left_requests", color: "var(--series-8)" },
] as const;
const TIMES = ["ttft", "total"] as const;
const LEVELS = ["p50", "p95", "p99"] as const;
const SHOWN = ["ttft", "total", "speed"] as const;
type Shown = (typeof SHOWN)[number];

interface ServiceChartsProps {
  readonly rows: readonly HealthRow[];
  readonly window: { readonly fromMs: number; readonly toMs: number; readonly widthMs: number };
  /** When something was changed, epoch ms. */
  readonly changedAtMs: readonly number[];
  readonly show: Shown | undefined;
  readonly onChange: (change: ServiceChange) => void;
}

export function ServiceCharts({ rows, window, changedAtMs, show = "ttft", onChange }: ServiceChartsProps) {
  const { fromMs, toMs, widthMs } = window;
  const buckets = useMemo(() => bucketsOf(rows, { fromMs, toMs, widthMs }), [rows, fromMs, toMs, widthMs]);
  const atMs = useMemo(() => buckets.map((bucket) => bucket.atMs), [buckets]);
  const range = useMemo(() => ({ fromMs, toMs }), [fromMs, toMs]);
  const marks = useMemo(() => ({ label: text("changed"), atMs: changedAtMs }), [changedAtMs]);
  const outcomes = useMemo(
    () =>
      OUTCOMES.map(({ id, field, color }) => ({
        id,
        color,
        label: text(id),
        values: buckets.map(({ row }) => row?.[field] ?? 0),
      })),
    [buckets],
  );
  const speeds = useMemo(() => {
    const of = (pick: (row: HealthRow) => number | null) => buckets.map(({ row }) => (row === null ? null : pick(row)));
    const time = TIMES.find((one) => one === show);
    if (time === undefined)
      return [{ id: "speed", label: text("speedLine"), values: of((row) => row.gen_tokens_per_sec) }];
    return LEVELS.map((level) => ({ id: level, label: level, values: of((row) => row[`${level}_${time}_ms`]) }));
  }, [buckets, show]);
  return (
    <Grid minWidth="wide">
      <Panel title={text("outcomes")}>
        <TimeChart
          title={text("requestsPer", { width: formatMs(widthMs) })}
          atMs={atMs}
          series={outcomes}
          kind="area"
          isWhole
          format={formatShortCount}
          range={range}
          marks={marks}
        />
      </Panel>
      <Panel
        title={text("speed")}
        actions={
          <SelectField
            label={text("show")}
            isLabelHidden
            value={show}
            choices={SHOWN.map((value) => ({ value, label: text(`show_${value}`) }))}
            onChange={({ target }) => onChange({ show: SHOWN.find((one) => one === target.value) })}
          />
        }
      >
        <TimeChart
          title={text(`show_${show}`)}
          atMs={atMs}
          series={speeds}
          kind="line"
          format={show === "speed" ? tokensPerSec : formatMs}
          range={range}
          marks={marks}
        />
      </Panel>
    </Grid>
  );
}

const tokensPerSec = (tokens: number): string => text("tokensPerSec", { tokens: formatShortCount(tokens) });
