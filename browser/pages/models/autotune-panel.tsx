import { type FormEvent, useEffect, useRef, useState } from "react";
import { autotuneSchema } from "../../../shared/schema/autotune.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { errorsOf, type FieldErrors } from "../../forms/record/drafts.ts";
import { complain, useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Panel, Row, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { LadderPlot } from "./ladder-plot.tsx";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const FIELDS = ["target_p99_ms", "max_concurrency"] as const;

type Report = Records["AutotuneReport"];
type Step = Report["steps"][number];

/** Finds the capacity of a model by real load, shows the ladder, and sets what was found when that is wished. */
export function AutotunePanel({ model }: ModelTabProps) {
  const { id, model_type } = model;
  const [typed, setTyped] = useState({ target_p99_ms: "2000", max_concurrency: "64" });
  const [errors, setErrors] = useState<FieldErrors>({});
  const [report, setReport] = useState<Report | null>(null);
  const running = useRef<AbortController>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => () => running.current?.abort(), []);
  const run = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const parsed = autotuneSchema.safeParse({
      target_p99_ms: Number(typed.target_p99_ms.trim() || Number.NaN),
      max_concurrency: Number(typed.max_concurrency.trim() || Number.NaN),
    });
    setErrors(parsed.success ? {} : errorsOf(parsed.error.issues, FIELDS));
    if (!parsed.success) return;
    const stop = new AbortController();
    running.current = stop;
    setBusy(true);
    try {
      setReport(
        answerValue(
          await api.POST("/api/v1/models/{id}/autotune", {
            params: { path: { id } },
            body: parsed.data,
            signal: stop.signal,
          }),
        ),
      );
    } catch (error) {
      if (!stop.signal.aborted) complain(text("tuneFailed"), error);
    } finally {
      setBusy(false);
    }
  };
  const isTunable = model_type === "chat" || model_type === "embedding";
  return (
    <Panel title={text("tune")} note={text("tuneNote")}>
      {isTunable ? (
        <form onSubmit={(event) => void run(event)} noValidate>
          <Row>
            {FIELDS.map((name) => (
              <TextField
                key={name}
                label={text(name === "target_p99_ms" ? "tuneTarget" : "tuneMost")}
                error={errors[name]}
                inputMode="numeric"
                autoComplete="off"
                value={typed[name]}
                disabled={isBusy}
                onChange={({ target }) => setTyped({ ...typed, [name]: target.value })}
              />
            ))}
            <Button writes type="submit" isBusy={isBusy}>
              {text("tuneRun")}
            </Button>
            {isBusy && (
              <Button tone="quiet" onClick={() => running.current?.abort()}>
                {text("tuneStop")}
              </Button>
            )}
          </Row>
        </form>
      ) : (
        <Notice>{text("tuneUnsupported")}</Notice>
      )}
      {isBusy && <p role="status">{text("tuneRunning")}</p>}
      {report !== null && !isBusy && <Found model={model} report={report} />}
    </Panel>
  );
}

/** What a capacity was set to, and what takes it back. */
type CapacityWrite =
  | { readonly kind: "apply"; readonly count: number; readonly mode: "tuned" | "adaptive" }
  | { readonly kind: "back"; readonly before: Pick<Records["Model"], "max_in_flight" | "capacity_mode"> };

function Found({ model, report }: ModelTabProps & { readonly report: Report }) {
  const { id, model_name: name, max_in_flight, capacity_mode } = model;
  const { recommended_max_in_flight: count, recommended_throughput_rps, knee_reason, steps, target_p99_ms } = report;
  const at = { params: { path: { id } } };
  const write = useAnnouncedWrite<CapacityWrite>({
    send: async (change) => {
      if (change.kind === "apply")
        return await api.POST("/api/v1/models/{id}/autotune/apply", {
          ...at,
          body: { max_in_flight: change.count, capacity_mode: change.mode },
        });
      const back = await api.PUT("/api/v1/models/{id}/capacity", {
        ...at,
        body: { max_in_flight: change.before.max_in_flight },
      });
      if (!back.response.ok) return back;
      return await api.PUT("/api/v1/models/{id}/capacity-mode", {
        ...at,
        body: { capacity_mode: change.before.capacity_mode },
      });
    },
    touches: MODEL_READS,
    done: () => text("tuneApplied", { name, count: formatCount(count) }),
    failed: () => text("tuneApplyFailed", { name }),
    inverse: () => ({
      variables: { kind: "back", before: { max_in_flight, capacity_mode } },
      done: text("tuneBack", { name }),
    }),
  });
  const ladder = useListView({
    rows: steps,
    columns: COLUMNS,
    prefix: "ladder_",
    label: text("ladder"),
    file: "ladder",
  });
  return (
    <Stack>
      <Notice tone={knee_reason === "no_data" ? "bad" : "good"}>
        {knee_reason !== "no_data" &&
          `${text("tuneFound", { count: formatCount(count), rps: formatRate(recommended_throughput_rps) })} `}
        {text(`tune_${knee_reason}`)}
      </Notice>
      {knee_reason !== "no_data" && (
        <Row>
          <Button
            writes
            tone="primary"
            isBusy={write.isBusy}
            disabled={max_in_flight === count && capacity_mode === "tuned"}
            onClick={() => write.run({ kind: "apply", count, mode: "tuned" })}
          >
            {text("tuneApply", { count: formatCount(count) })}
          </Button>
          <Button writes isBusy={write.isBusy} onClick={() => write.run({ kind: "apply", count, mode: "adaptive" })}>
            {text("tuneAdaptive", { count: formatCount(count) })}
          </Button>
        </Row>
      )}
      <LadderPlot steps={steps} chosen={count} targetMs={target_p99_ms} />
      <Row isEnd>{ladder.choice}</Row>
      <Table
        label={text("ladder")}
        columns={ladder.columns}
        rows={ladder.rows ?? steps}
        sort={ladder.sort}
        onSort={ladder.onSort}
        rowKey={({ concurrency }) => String(concurrency)}
      />
    </Stack>
  );
}

const rate = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const formatRate = (perSecond: number | null): string =>
  perSecond === null ? formatCount(null) : rate.format(perSecond);

const COLUMNS = (
  [
    ["at", "concurrency", "concurrency", formatCount],
    ["throughput", "throughput", "throughput_rps", formatRate],
    ["p50", "p50", "p50_ms", formatMs],
    ["p99", "p99", "p99_ms", formatMs],
    ["requests", "requests", "requests", formatCount],
    ["errors", "errors", "errors", formatCount],
  ] as const
).map(
  ([id, head, field, format]): ListColumn<Step> => ({
    id,
    head: text(head),
    align: "right",
    sortBy: (step) => step[field],
    ...(field.endsWith("_ms") ? { unit: "ms" } : {}),
    cell: (step) => format(step[field]),
  }),
);
