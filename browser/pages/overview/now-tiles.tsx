import { useQuery } from "@tanstack/react-query";
import { cellRows, loadOfAll } from "../../explain/cell-rows.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { FigureTile } from "../../forms/usage/figure-tile.tsx";
import { overviewTexts } from "../../messages/en/overview.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import { Age } from "../../time/use-clock.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { ReadFailure } from "../../ui/states.tsx";
import classes from "./overview-page.module.css";
import { attentionRead, liveRead, statsRead, summaryRead } from "./reads.ts";

const text = texts("overview", overviewTexts);

/** How much runs and waits in all cells now, and what is down. */
export function NowTiles() {
  const stats = useQuery(statsRead);
  const live = useQuery(liveRead);
  const summary = useQuery(summaryRead);
  const attention = useQuery(attentionRead);
  const readAtMs = serverTimeOf(stats.dataUpdatedAt);
  const cells = stats.data?.cells ?? (stats.data === undefined ? [] : [{ ...stats.data, last_seen_ms: readAtMs }]);
  const load = loadOfAll(cellRows(cells, attention.data ?? [], readAtMs));
  return (
    <section className={classes["section"]} aria-label={text("now")}>
      <div className={classes["sectionHead"]}>
        <h2>{text("now")}</h2>
        <p>
          {text("updated")} <Age at={readAtMs === 0 ? null : readAtMs} />
        </p>
      </div>
      <ReadFailure state={stats} />
      <div className={classes["tiles"]}>
        <FigureTile
          label={text("running")}
          isLoading={stats.isPending}
          value={formatCount(load.inFlight)}
          note={load.maxInFlight === null ? text("loadUnknown") : text("runningNote", { capacity: load.maxInFlight })}
          target={pageTarget("/fairshare", {})}
        />
        <FigureTile
          label={text("waiting")}
          isLoading={stats.isPending || live.isPending}
          value={formatCount(load.queued)}
          note={waitingNote(load.queued, live.data?.waiting)}
          target={pageTarget("/fairshare", {})}
        />
        <FigureTile
          label={text("modelsDown")}
          isLoading={summary.isPending}
          value={formatCount(summary.data?.down_models)}
          note={
            summary.data === undefined
              ? text("modelsDownUnknown")
              : text("modelsDownNote", { count: summary.data.enabled_models })
          }
          target={pageTarget("/models", { health: "unhealthy" })}
        />
        <FigureTile
          label={text("tenants")}
          isLoading={summary.isPending}
          value={formatCount(summary.data?.active_tenants)}
          note={
            summary.data === undefined
              ? text("modelsDownUnknown")
              : text("tenantsNote", { count: summary.data.tenant_count })
          }
          target={pageTarget("/tenants", {})}
        />
      </div>
    </section>
  );
}

function waitingNote(queued: number | null, held: readonly { readonly oldest_wait_ms: number }[] | undefined): string {
  if (queued === null || held === undefined) return text("loadUnknown");
  if (queued === 0) return text("waitingNone");
  const longest = held.reduce((most, { oldest_wait_ms: wait }) => Math.max(most, wait), 0);
  return text("waitingHeld", { wait: formatMs(longest), count: held.length });
}
