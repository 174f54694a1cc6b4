import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount } from "../../ui/format.ts";
import { Grid, Panel, Stack } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AutotunePanel } from "./autotune-panel.tsx";
import { ModelForm } from "./model-form.tsx";
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
          <Loaded state={live} texts={STATE_TEXTS}>
            {({ model_in_flight, model_queued }) => (
              <p>
                {text(model.max_in_flight === null ? "slotsNowOpen" : "slotsNow", {
                  running: formatCount(countOf(model_in_flight, model.model_name)),
                  waiting: formatCount(countOf(model_queued, model.model_name)),
                  max: formatCount(model.max_in_flight),
                })}
              </p>
            )}
          </Loaded>
          <ModelForm form="capacity" what={text("capacity")} model={model} />
          <ModelForm form="mode" what={text("mode")} model={model} />
          {tunedMs !== null && <p>{text("tunedAt", { instant: formatInstant(zone, tunedMs, "minute") })}</p>}
        </Panel>
        <Panel title={text("share")}>
          <ModelForm form="weight" what={text("share")} model={model} />
          <ModelForm form="energy" what={text("energy")} model={model} />
        </Panel>
      </Grid>
      <AutotunePanel model={model} />
    </Stack>
  );
}

function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0;
}
