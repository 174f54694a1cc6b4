/** Parts of a model's page that are little more than some of its fields, or a list that other pages have too. */
import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { History } from "../../forms/history/history.tsx";
import { historyTexts } from "../../messages/en/history.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Grid, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { BoonNotice } from "./boon-notice.tsx";
import { ModelFacts } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const historyText = texts("history", historyTexts);
const EVERY_MS = 60_000;

/**
 * How upstream calls are timed, repeated and spread over endpoints (docs/rules/models.md#timeouts-and-retries); stored answers,
 * and how often they were given (docs/rules/response-cache.md).
 */
export function ReliabilityTab({ model }: ModelTabProps) {
  const used = useQuery(
    read("/api/v1/usage/cache", { params: { query: { model: model.model_name } } }, { everyMs: EVERY_MS }),
  );
  return (
    <>
      <Panel>
        <ModelFacts section="reliability" model={model} />
      </Panel>
      <Panel title={text("cache")} note={text("cacheNote")}>
        <ModelFacts section="cache" model={model} />
      </Panel>
      <Panel title={text("cacheUse")}>
        <Loaded state={used}>
          {({ hits, misses, hit_ratio, tokens_saved }) => (
            <Grid>
              <Tile label={text("cacheHits")} value={formatCount(hits)} />
              <Tile label={text("cacheMisses")} value={formatCount(misses)} />
              <Tile label={text("cacheShare")} value={formatShare(hits + misses > 0 ? hit_ratio : null)} />
              <Tile label={text("cacheSaved")} value={formatCount(tokens_saved)} />
            </Grid>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

/** What the model can do, and what the gateway does for it (docs/rules/boons.md#order). */
export function ModelBoonsTab({ model }: ModelTabProps) {
  return (
    <Grid minWidth="wide">
      <Panel title={text("supports")}>
        <ModelFacts section="supports" model={model} />
      </Panel>
      <Panel title={text("boons")} note={text("boonsNote")}>
        <ModelFacts section="boons" model={model} />
        <BoonNotice boons={model.boons} servers={model.tool_servers} />
      </Panel>
    </Grid>
  );
}

/** What was changed of the model, and what happened to its replicas where the gateway runs it, or has run it. */
export function ModelHistoryTab({ model: { id } }: ModelTabProps) {
  const { zone } = useZone();
  return (
    <Stack>
      <History of={{ entity_type: "model", entity_id: id }} zone={zone} />
      <History of={{ replicas_of: id }} zone={zone} title={historyText("replicas")} isOptional />
    </Stack>
  );
}
