import { lazy, Suspense } from "react";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { maintenanceTexts } from "../../messages/en/maintenance.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Panel } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { updateModel } from "./update-model.ts";

const text = texts("maintenance", maintenanceTexts);
// A part of its own: what two pages share would be in the first load.
const UntilChoice = lazy(async () => ({ default: (await import("../../forms/until/until-choice.tsx")).UntilChoice }));
const SECOND_MS = 1000;

/** Starts a maintenance of a model and ends it, with undo (docs/rules/health.md). */
export function Maintenance({ model }: ModelTabProps) {
  const { id, model_name: name, maintenance_until: until } = model;
  const { zone } = useZone();
  const nowMs = useNow(SECOND_MS);
  const isOn = (instantOf(until) ?? 0) > nowMs;
  const said = (end: string | null): string =>
    end === null
      ? text("ended", { name })
      : text("started", { name, instant: formatInstant(zone, instantOf(end), "minute") });
  const write = useAnnouncedWrite<string | null>({
    send: async (end) => await updateModel(id, { health: { maintenance_until: end } }),
    touches: MODEL_READS,
    done: said,
    failed: () => text("failed", { name }),
    inverse: () => {
      const before = isOn ? until : null;
      return { variables: before, done: said(before) };
    },
  });
  if (useReadOnly()) return null;
  return (
    <Panel title={text(isOn ? "title" : "start")} note={text("text")}>
      <Suspense fallback={null}>
        <UntilChoice
          lengths={["1h", "4h", "24h"]}
          isBusy={write.isBusy}
          lengthLabel={(length) => text("startFor", { length })}
          untilLabel={text("start")}
          onChoose={write.run}
        >
          {isOn && (
            <Button writes tone="primary" isBusy={write.isBusy} onClick={() => write.run(null)}>
              {text("end")}
            </Button>
          )}
        </UntilChoice>
      </Suspense>
    </Panel>
  );
}
