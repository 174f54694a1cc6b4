import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { TimeChart } from "../../charts/time-chart.tsx";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { explainHealth, healthWord } from "../../explain/explain-health.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatMs, formatText } from "../../ui/format.ts";
import { Facts, Grid, Panel } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { type CheckRow, checkLatencies, checkRows } from "./health-checks.ts";
import { Maintenance } from "./maintenance.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const EVERY_MS = 15_000;
const MINUTE_MS = 60_000;

/** What checks have found, how they are made, and one now (docs/rules/health.md). */
export function HealthTab({ model }: ModelTabProps) {
  const { id, model_name: name } = model;
  const path = { params: { path: { id } } };
  const health = useQuery(read("/api/v1/models/{id}/health", path, { everyMs: EVERY_MS }));
  const check = useAnnouncedWrite<null>({
    send: async () => await api.POST("/api/v1/models/{id}/health/check", path),
    touches: MODEL_READS,
    done: () => text("checked", { name }),
    failed: () => text("checkFailed", { name }),
  });
  return (
    <>
      <Grid minWidth="wide">
        <Panel
          title={text("health")}
          actions={
            <Button writes isBusy={check.isBusy} onClick={() => check.run(null)}>
              {text("check")}
            </Button>
          }
        >
          <Loaded state={health}>{({ summary }) => <Summary summary={summary} />}</Loaded>
        </Panel>
        <Panel title={text("checksSettings")}>
          <ModelFacts section="health" model={model} />
        </Panel>
      </Grid>
      <Maintenance key={id} model={model} />
      {health.data !== undefined && <Checks detail={health.data} />}
    </>
  );
}

function Summary({ summary }: { readonly summary: Records["ModelHealthSummary"] }) {
  const { zone } = useZone();
  const nowMs = useNow(MINUTE_MS);
  const { tone, title, sentence } = explainHealth(summary, zone, nowMs);
  const isChecked = (instantOf(summary.maintenance_until) ?? 0) <= nowMs;
  const { consecutive_failures, last_checked_at, last_latency_ms, last_message, next_check_at } = summary;
  return (
    <>
      <Notice tone={tone}>
        <strong>{title}.</strong> {sentence}
      </Notice>
      <Facts
        facts={[
          [text("lastCheck"), <Age key="last" at={last_checked_at} />],
          [text("latency"), formatMs(last_latency_ms)],
          [text("message"), <bdi key="message">{formatText(last_message)}</bdi>],
          [text("failures"), formatCount(consecutive_failures)],
          ...(isChecked ? [[text("nextCheck"), <NextCheck key="next" at={next_check_at} />] as const] : []),
        ]}
      />
    </>
  );
}

/** When it is checked next; what is past has not been done yet. */
function NextCheck({ at }: { readonly at: string | null }) {
  const nowMs = useNow(1000);
  const dueMs = at === null ? null : instantOf(at);
  return dueMs !== null && dueMs <= nowMs ? text("checkDue") : <Age at={at} />;
}

function Checks({ detail }: { readonly detail: Records["ModelHealthDetail"] }) {
  const { zone, label } = useZone();
  const rows = useMemo(() => checkRows(detail), [detail]);
  const chart = useMemo(() => checkLatencies(rows), [rows]);
  const columns = useMemo(() => columnsOf(zone), [zone]);
  const { choice, ...view } = useListView({ rows, columns, prefix: "checks_", label: text("checks"), file: "checks" });
  return (
    <>
      {rows.length > 1 && (
        <Panel>
          <TimeChart title={text("latencyChart")} {...chart} kind="line" format={formatMs} />
        </Panel>
      )}
      <Panel isFlush title={text("checks")} note={label} actions={choice}>
        <Table
          label={text("checks")}
          {...view}
          rows={view.rows ?? rows}
          rowKey={({ id }) => id}
          empty={<Empty title={text("checksEmpty")} />}
        />
      </Panel>
    </>
  );
}

/** A code, not a count. */
function formatHttpStatus(status: number | null): string {
  return formatText(status === null ? null : String(status));
}

function columnsOf(zone: string): readonly ListColumn<CheckRow>[] {
  return [
    {
      id: "when",
      head: text("when"),
      sortBy: ({ checked_at }) => checked_at,
      cell: ({ checked_at }) => formatInstant(zone, instantOf(checked_at)),
    },
    { id: "of", head: text("what"), sortBy: ({ of }) => of, cell: ({ of }) => <bdi>{of}</bdi> },
    {
      id: "status",
      head: text("status"),
      sortBy: ({ status }) => healthWord(status).title,
      cell: ({ status }) => <HealthBadge status={status} />,
    },
    {
      id: "latency",
      head: text("latency"),
      align: "right",
      sortBy: ({ latency_ms }) => latency_ms,
      unit: "ms",
      cell: ({ latency_ms }) => formatMs(latency_ms),
    },
    {
      id: "http",
      head: text("http"),
      align: "right",
      sortBy: ({ http_status }) => http_status,
      cell: ({ http_status }) => formatHttpStatus(http_status),
    },
    {
      id: "message",
      head: text("message"),
      isWide: true,
      csv: ({ message }) => message,
      cell: ({ message, response_excerpt }) => (
        <bdi title={response_excerpt ?? message ?? undefined}>{formatText(message)}</bdi>
      ),
    },
    {
      id: "trigger",
      head: text("trigger"),
      sortBy: ({ trigger }) => text(`trigger_${trigger}`),
      cell: ({ trigger }) => text(`trigger_${trigger}`),
    },
  ];
}
