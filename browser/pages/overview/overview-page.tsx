import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { explainAttention } from "../../explain/explain-attention.ts";
import { GrafanaLink } from "../../links/grafana-link.tsx";
import { overviewTexts } from "../../messages/en/overview.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { serverTimeOf } from "../../time/server-time.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useIsLate } from "../../time/use-is-late.ts";
import { useZone, ZoneProvider } from "../../time/zone-context.tsx";
import type { ZoneChoice } from "../../time/zones.ts";
import { Badge } from "../../ui/badge.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { PageHead, Panel, Row } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AttentionList } from "./attention-list.tsx";
import { CellsPanel } from "./cells-panel.tsx";
import { NowTiles } from "./now-tiles.tsx";
import classes from "./overview-page.module.css";
import { attentionRead } from "./reads.ts";
import { UsageTiles } from "./usage-tiles.tsx";

const text = texts("overview", overviewTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/");

const HOUR_MS = 3_600_000;

/** What needs attention first, then load, the figures of the day, and the cells. */
export function OverviewPage() {
  const { zone } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <ZoneProvider
      tenantZone={null}
      browserZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
      choice={zone ?? null}
      onChoose={(choice) =>
        void navigate({
          search: (before) => ({ ...before, zone: choice === "tenant" ? undefined : choice }),
          replace: true,
        })
      }
      nowMs={useNow(HOUR_MS)}
    >
      <PageHead
        title={pageText("overview")}
        question={pageText("overviewQuestion")}
        actions={
          <Row>
            <ZonePicker />
            <GrafanaLink />
          </Row>
        }
      />
      <Attention />
      <BelowAttention>
        <NowTiles />
        <UsageTiles />
        <CellsPanel />
      </BelowAttention>
    </ZoneProvider>
  );
}

function Attention() {
  const { all } = route.useSearch();
  const navigate = route.useNavigate();
  const attention = useQuery(attentionRead);
  const found = attention.data?.filter(({ muted_until }) => muted_until === null) ?? [];
  const [worst] = found;
  return (
    <Panel
      title={
        <>
          {text("attention")}{" "}
          {worst !== undefined && (
            <Badge tone={explainAttention(worst).tone}>{text("attentionCount", { count: found.length })}</Badge>
          )}
        </>
      }
      isFlush
    >
      <Loaded state={attention}>
        {(items) => (
          <AttentionList
            items={items}
            readAtMs={serverTimeOf(attention.dataUpdatedAt)}
            isWhole={all === true}
            onWhole={(isWhole) =>
              void navigate({ search: (before) => ({ ...before, all: isWhole ? true : undefined }), replace: true })
            }
          />
        )}
      </Loaded>
    </Panel>
  );
}

/**
 * What stands below the list is read at once, and shown when the list is there, so that the list does not push it down under
 * a reader's eyes; a list that is late does not keep it back.
 */
function BelowAttention({ children }: { readonly children: ReactNode }) {
  const { data, error } = useQuery(attentionRead);
  const isLate = useIsLate();
  const isHidden = data === undefined && error === null && !isLate;
  return (
    <div className={classes["below"]} hidden={isHidden}>
      {children}
    </div>
  );
}

function ZonePicker() {
  const { options, zone, choose } = useZone();
  const chosen = options.find((option) => option.zone === zone)?.choice ?? "utc";
  return (
    <SelectField
      label={text("zone")}
      isLabelHidden
      value={chosen}
      onChange={(event) => choose(event.target.value as ZoneChoice)}
      choices={options.map(({ choice, label }) => ({ value: choice, label }))}
    />
  );
}
