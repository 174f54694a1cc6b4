import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import type { FairshareLive, FairshareSample } from "../../../shared/schema/load.ts";
import { keptColors, seriesColor } from "../../charts/series-color.ts";
import { SlotsBar } from "../../charts/slots-bar.tsx";
import { read } from "../../data/reads.ts";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { Panel, Row } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import classes from "./fairshare-page.module.css";
import {
  BATCHES_ID,
  type Division,
  joinedSamples,
  RANGES,
  type RangeName,
  sampleOf,
  slotsHistory,
  withSample,
} from "./slots-history.ts";

const text = texts("fairshare", fairshareTexts);
const TimeChart = lazy(async () => ({ default: (await import("../../charts/time-chart.tsx")).TimeChart }));
const HISTORY_EVERY_MS = 60_000;
const NO_SAMPLES: readonly FairshareSample[] = [];

/** Slots in use, now and over time. */
export function SlotsPanel({
  live,
  range,
  division,
  onRange,
  onDivision,
  onCapacity,
}: {
  readonly live: FairshareLive;
  readonly range: RangeName;
  readonly division: Division;
  readonly onRange: (range: RangeName) => void;
  readonly onDivision: (division: Division) => void;
  readonly onCapacity: () => void;
}) {
  const { cell } = live;
  const [positions, setPositions] = useState<ReadonlyMap<string, number>>(new Map());
  const names = live.groups.map(({ name }) => name).toSorted((a, b) => (a < b ? -1 : 1));
  // a group keeps its colour while it uses no slot
  const kept = keptColors(positions, [...new Set([...positions.keys(), ...names, BATCHES_ID])]);
  if (kept !== positions) setPositions(kept);
  const history = useQuery(
    read("/api/v1/fairshare/history", { params: { query: { cell } } }, { everyMs: HISTORY_EVERY_MS }),
  );
  return (
    <Panel
      title={text("slots")}
      note={live.headroom > 0 ? text("slotsNoteHeadroom", { cell, count: live.headroom }) : text("slotsNote", { cell })}
      actions={
        <Row>
          <SelectField
            label={text("division")}
            isLabelHidden
            value={division}
            onChange={(event) => onDivision(event.target.value === "tenant" ? "tenant" : "group")}
            choices={[
              { value: "group", label: text("divisionGroup") },
              { value: "tenant", label: text("divisionTenant") },
            ]}
          />
          <SelectField
            label={text("range")}
            isLabelHidden
            value={range}
            onChange={(event) => onRange(event.target.value === "15m" ? "15m" : "1h")}
            choices={[
              { value: "15m", label: text("range15m") },
              { value: "1h", label: text("range1h") },
            ]}
          />
          <Button writes onClick={onCapacity}>
            {text("changeCapacity")}
          </Button>
        </Row>
      }
    >
      <SlotsBar live={live} colorOf={(group) => seriesColor(kept.get(group ?? BATCHES_ID) ?? 0)} />
      <Loaded state={history}>
        {(samples) => (
          <Chart key={cell} live={live} history={samples} range={range} division={division} positions={kept} />
        )}
      </Loaded>
    </Panel>
  );
}

function labelOf(id: string, name: string): string {
  if (id === BATCHES_ID) return text("batches");
  return name === "" ? text("smallTenants") : name;
}

function Chart({
  live,
  history,
  range,
  division,
  positions,
}: {
  readonly live: FairshareLive;
  readonly history: readonly FairshareSample[];
  readonly range: RangeName;
  readonly division: Division;
  /** Of the colours of groups. */
  readonly positions: ReadonlyMap<string, number>;
}) {
  const [seen, setSeen] = useState(NO_SAMPLES);
  useEffect(() => setSeen((before) => withSample(before, sampleOf(live))), [live]);
  const { stepMs } = RANGES[range];
  const stepEndMs = useNow(stepMs) + stepMs;
  const nowMs = Math.min(stepEndMs - 1, Math.max(live.ts_ms, stepEndMs - stepMs));
  const { atMs, series } = useMemo(
    () => slotsHistory(joinedSamples(history, seen), range, division, nowMs),
    [history, seen, range, division, nowMs],
  );
  const chartSeries = useMemo(
    () =>
      series.map(({ id, name, values }) => {
        const at = positions.get(id);
        return { id, label: labelOf(id, name), values, ...(at === undefined ? {} : { color: seriesColor(at) }) };
      }),
    [series, positions],
  );
  const limit = useMemo(
    () => ({ label: text("chartCapacity"), values: atMs.map(() => live.max_in_flight) }),
    [atMs, live.max_in_flight],
  );
  return (
    <Suspense fallback={<div className={classes["chartPlace"]} />}>
      <TimeChart
        title={text(division === "group" ? "chartGroup" : "chartTenant")}
        atMs={atMs}
        series={chartSeries}
        kind="area"
        format={formatCount}
        limit={limit}
      />
    </Suspense>
  );
}
