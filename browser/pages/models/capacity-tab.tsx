import { useQuery } from "@tanstack/react-query";
import type { AdaptiveCapacity } from "../../../shared/schema/load.ts";
import { read } from "../../data/reads.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount } from "../../ui/format.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AutotunePanel } from "./autotune-panel.tsx";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const LIVE_EVERY_MS = 5000;

/** How many requests the model takes at once, and how that number is found (docs/rules/autotune.md). */
export function CapacityTab({ model }: ModelTabProps) {
  const { zone } = useZone();
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS }));
  const tunedMs = instantOf(model.capacity_tuned_at);
  return (
    <Stack>
      <Grid minWidth="wide">
        <Panel
          title={text("slots")}
          note={live.data === undefined ? undefined : text("slotsIn", { cell: live.data.cell })}
        >
          <Loaded state={live}>
            {({ model_in_flight, model_queued, adaptive }) => {
              const moving = adaptive.find((one) => one.model === model.model_name);
              const max = moving?.capacity ?? model.max_in_flight;
              return (
                <>
                  <p>
                    {text(max === null ? "slotsNowOpen" : "slotsNow", {
                      running: formatCount(countOf(model_in_flight, model.model_name)),
                      waiting: formatCount(countOf(model_queued, model.model_name)),
                      max: formatCount(max),
                    })}
                  </p>
                  {moving !== undefined && <AdaptiveChanges moving={moving} />}
                </>
              );
            }}
          </Loaded>
          <ModelFacts section="capacity" model={model} />
          {tunedMs !== null && <p>{text("tunedAt", { instant: formatInstant(zone, tunedMs, "minute") })}</p>}
        </Panel>
        <Panel title={text("share")}>
          <ModelFacts section="share" model={model} />
        </Panel>
      </Grid>
      <AutotunePanel model={model} />
    </Stack>
  );
}

const CHANGES_SHOWN = 5;

/** Why an adaptive capacity is what it is. */
function AdaptiveChanges({ moving: { capacity, min, max, changes } }: { readonly moving: AdaptiveCapacity }) {
  const { zone } = useZone();
  return (
    <>
      <p>{text("adaptiveNow", { capacity: formatCount(capacity), min: formatCount(min), max: formatCount(max) })}</p>
      <ul>
        {changes.slice(0, CHANGES_SHOWN).map(({ ts_ms, from, to, reason }) => (
          <li key={ts_ms}>
            {text("adaptiveChange", {
              instant: formatInstant(zone, ts_ms, "second"),
              from: formatCount(from),
              to: formatCount(to),
              reason: text(`reason_${reason}`),
            })}
          </li>
        ))}
      </ul>
    </>
  );
}

function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0;
}
