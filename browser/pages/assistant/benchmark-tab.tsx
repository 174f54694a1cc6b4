import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { startBenchmarkSchema } from "../../../shared/schema/benchmark.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { useWrite } from "../../data/writes.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { CreateForm } from "../../forms/record/create-form.tsx";
import type { FieldSpec } from "../../forms/record/field-specs.ts";
import { benchmarkTexts } from "../../messages/en/benchmark.ts";
import { texts } from "../../messages/texts.ts";
import { instantOf } from "../../time/instants.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount, formatMs, formatShortCount } from "../../ui/format.ts";
import { Grid, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { latencySeries, rateSeries } from "./benchmark-series.ts";

const text = texts("benchmark", benchmarkTexts);
const TimeChart = lazy(async () => ({ default: (await import("../../charts/time-chart.tsx")).TimeChart }));
type Benchmark = Records["Benchmark"];

const SPECS = Object.keys(startBenchmarkSchema.shape).map(
  (name): FieldSpec => ({ name, kind: name === "model" ? "text" : "number", isNullable: false, choices: [] }),
);
const LIST_EVERY_MS = 15_000;
const RUNNING_EVERY_MS = 2000;
const TONES = { running: "accent", done: "good", stopped: "neutral", lost: "bad" } as const;

/** Benchmarks: one is started, seen while it runs, and kept with its figures. */
export function BenchmarkTab({
  chosen,
  onChoose,
}: {
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}) {
  const list = useQuery(read("/api/v1/benchmarks", undefined, { everyMs: LIST_EVERY_MS }));
  const models = useQuery(read("/api/v1/models", { params: { query: { limit: "1000" } } }));
  const view = useListView({ rows: list.data, columns: COLUMNS, file: "benchmarks" });
  const [nth, setNth] = useState(0);
  const shown = chosen ?? list.data?.[0]?.id ?? null;
  const names = models.data?.filter((one) => ["chat", "embedding"].includes(one.model_type) && one.enabled) ?? [];
  const start = async (body: unknown, idempotencyKey: string): Promise<void> => {
    const made = answerValue(
      await api.POST("/api/v1/benchmarks", {
        params: { header: { "idempotency-key": idempotencyKey } },
        body: body as Records["StartBenchmark"],
      }),
    );
    toast({ title: text("started", { model: made.plan.model }) });
    setNth(nth + 1);
    onChoose(made.id);
    await list.refetch();
  };
  return (
    <Stack>
      <Panel title={text("new")} note={text("newNote")}>
        <CreateForm
          key={nth}
          specs={SPECS}
          schema={startBenchmarkSchema}
          initial={{ concurrency: 8, duration_secs: 30, max_requests: 200, prompt_tokens: 64, max_tokens: 64 }}
          zone="UTC"
          submitLabel={text("start")}
          offered={{ model: names.map((one) => one.model_name) }}
          onSubmit={start}
        />
      </Panel>
      {shown !== null && <OneBenchmark id={shown} />}
      <ListTable
        state={list}
        view={view}
        title={text("list")}
        actions={view.choice}
        label={text("list")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => onChoose(id)}
        openKey={shown ?? undefined}
        empty={<Empty title={text("none")}>{text("noneText")}</Empty>}
      />
    </Stack>
  );
}

function OneBenchmark({ id }: { readonly id: string }) {
  const path = { path: { id } };
  const known = useQuery(read("/api/v1/benchmarks/{id}", { params: path }));
  const isRunning = known.data?.id === id && known.data.state === "running";
  const live = useQuery({
    ...read("/api/v1/benchmarks/{id}", { params: path }, { everyMs: RUNNING_EVERY_MS }),
    enabled: isRunning,
  });
  const stop = useWrite({
    send: async () => await api.POST("/api/v1/benchmarks/{id}/stop", { params: path }),
    touches: ["/api/v1/benchmarks/{id}", "/api/v1/benchmarks"],
    onDone: () => toast({ title: text("stopping") }),
    onFailed: ({ said }) => toast({ title: text("notStopped"), detail: said, tone: "bad" }),
  });
  const data = live.data?.id === id ? live.data : known.data;
  const queries = useQueryClient();
  const isOver = data?.id === id && data.state !== "running";
  useEffect(() => {
    if (isOver) void queries.invalidateQueries({ queryKey: ["/api/v1/benchmarks"] });
  }, [isOver, queries]);
  return (
    <Loaded state={{ ...known, data }}>
      {({ plan, state, result, points, created_at }) => (
        <Panel
          title={<bdi>{text("of", { model: plan.model })}</bdi>}
          note={text("planned", {
            concurrency: plan.concurrency,
            requests: plan.max_requests,
            secs: plan.duration_secs,
          })}
          actions={
            state === "running" ? (
              <Button tone="danger" isBusy={stop.isPending} onClick={() => stop.mutate()}>
                {text("stop")}
              </Button>
            ) : (
              <State state={state} />
            )
          }
        >
          <Figures result={result} />
          <Plot points={points} beganMs={instantOf(created_at) ?? 0} />
        </Panel>
      )}
    </Loaded>
  );
}

function Figures({ result }: { readonly result: Benchmark["result"] }) {
  return (
    <Grid>
      <Tile label={text("rps")} value={formatShortCount(result?.throughput_rps)} />
      <Tile
        label={text("p50")}
        value={formatMs(result?.p50_ms)}
        note={text("p95Note", { p95: formatMs(result?.p95_ms) })}
      />
      <Tile
        label={text("ttft")}
        value={formatMs(result?.ttft_p50_ms)}
        note={text("p95Note", { p95: formatMs(result?.ttft_p95_ms) })}
      />
      <Tile label={text("tokens")} value={formatShortCount(result?.output_tokens_per_sec)} />
      <Tile
        label={text("errors")}
        value={formatCount(result?.errors)}
        note={text("ofRequests", { count: formatCount(result?.requests) })}
      />
    </Grid>
  );
}

function Plot({
  points,
  beganMs,
}: {
  readonly points: Records["BenchmarkDetail"]["points"];
  readonly beganMs: number;
}) {
  const series = useMemo(() => rateSeries(points, { ok: text("ok"), failed: text("failed") }), [points]);
  const latency = useMemo(() => latencySeries(points), [points]);
  const atMs = useMemo(() => points.map(({ at_ms }) => beganMs + at_ms), [points, beganMs]);
  return (
    <Suspense fallback={null}>
      <TimeChart title={text("perSecond")} atMs={atMs} series={series} kind="area" format={formatCount} isWhole />
      <TimeChart title={text("latency")} atMs={atMs} series={latency} kind="line" format={formatMs} />
    </Suspense>
  );
}

function State({ state }: { readonly state: Benchmark["state"] }) {
  return <Badge tone={TONES[state]}>{text(`is_${state}`)}</Badge>;
}

const figure = (
  id: "rps" | "p50" | "p95" | "ttft" | "errors",
  of: (result: NonNullable<Benchmark["result"]>) => number | null,
  format: (amount: number | null | undefined) => string,
): ListColumn<Benchmark> => {
  const amount = ({ result }: Benchmark): number | null => (result === null ? null : of(result));
  return { id, head: text(id), align: "right", sortBy: amount, cell: (row) => format(amount(row)) };
};

const COLUMNS: readonly ListColumn<Benchmark>[] = [
  {
    id: "when",
    head: text("when"),
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Age at={created_at} />,
  },
  {
    id: "model",
    head: text("model"),
    isWide: true,
    sortBy: ({ plan }) => plan.model,
    cell: ({ plan }) => <bdi>{plan.model}</bdi>,
  },
  { id: "state", head: text("state"), sortBy: ({ state }) => state, cell: ({ state }) => <State state={state} /> },
  {
    id: "concurrency",
    head: text("concurrency"),
    align: "right",
    sortBy: ({ plan }) => plan.concurrency,
    cell: ({ plan }) => formatCount(plan.concurrency),
  },
  figure("rps", ({ throughput_rps }) => throughput_rps, formatShortCount),
  figure("p50", ({ p50_ms }) => p50_ms, formatMs),
  figure("p95", ({ p95_ms }) => p95_ms, formatMs),
  figure("ttft", ({ ttft_p50_ms }) => ttft_p50_ms, formatMs),
  figure("errors", ({ errors }) => errors, formatCount),
  {
    id: "by",
    head: text("by"),
    sortBy: ({ started_by }) => started_by,
    cell: ({ started_by }) => <bdi>{started_by}</bdi>,
  },
];
