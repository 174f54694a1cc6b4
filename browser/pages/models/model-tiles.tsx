import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { DayTiles } from "../../forms/usage/day-tiles.tsx";
import { FigureTile } from "../../forms/usage/figure-tile.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount } from "../../ui/format.ts";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const LIVE_EVERY_MS = 5000;

/** How a model does now, today and this month. */
export function ModelTiles({ model }: ModelTabProps) {
  const { model_name: name, max_in_flight: max } = model;
  const { zone } = useZone();
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS }));
  const running = live.data === undefined ? null : (live.data.model_in_flight[name] ?? 0);
  const waiting = live.data === undefined ? null : (live.data.model_queued[name] ?? 0);
  return (
    <DayTiles filter={{ model: name }} zone={zone}>
      <FigureTile
        label={text("runningNow")}
        isLoading={live.isPending}
        value={
          max === null
            ? formatCount(running)
            : text("runningOf", { running: formatCount(running), max: formatCount(max) })
        }
        note={text("waitingNow", { waiting: formatCount(waiting) })}
        target={pageTarget("/fairshare", {})}
      />
    </DayTiles>
  );
}
