/** Parts of a model's page that are a form and what it says now. */
import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Grid, Panel, Tile } from "../../ui/layout.tsx";
import { Loaded, Notice } from "../../ui/states.tsx";
import { ModelForm } from "./model-form.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const EVERY_MS = 60_000;

/** How upstream calls are timed, repeated and spread over endpoints (docs/rules/models.md#timeouts-and-retries). */
export function ReliabilityTab({ model }: ModelTabProps) {
  return (
    <Panel title={text("reliability")}>
      <ModelForm form="reliability" what={text("reliability")} model={model} />
    </Panel>
  );
}

/** Stored answers, and how often they were given (docs/rules/response-cache.md). */
export function CacheTab({ model }: ModelTabProps) {
  const used = useQuery(
    read("/api/v1/usage/cache", { params: { query: { model: model.model_name } } }, { everyMs: EVERY_MS }),
  );
  return (
    <>
      <Panel title={text("cache")} note={text("cacheNote")}>
        <ModelForm form="cache" what={text("cache")} model={model} />
      </Panel>
      <Panel title={text("cacheUse")}>
        <Loaded state={used} texts={STATE_TEXTS}>
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
  const settings = useQuery(read("/api/v1/settings/boons"));
  const servers = useQuery(read("/api/v1/mcp-servers", { params: { query: { limit: "1000" } } }));
  const offered = [...new Set([...(servers.data ?? []).map(({ name }) => name), ...model.tool_servers])];
  return (
    <Grid minWidth="wide">
      <Panel title={text("can")}>
        <ModelForm form="supports" what={text("can")} model={model} />
      </Panel>
      <Panel title={text("boons")} note={text("boonsNote")}>
        <ModelForm
          form="boons"
          what={text("boons")}
          model={model}
          specs={
            offered.length === 0 ? [] : [{ name: "tool_servers", kind: "choices", isNullable: false, choices: offered }]
          }
          note={({ boons, tool_servers }) => {
            const on: Readonly<Record<string, boolean>> = {
              vision: settings.data?.vision_enabled !== false,
              structured_output: settings.data?.structured_output_enabled !== false,
              compression: settings.data?.compression_enabled !== false,
            };
            const chosen = Array.isArray(boons) ? boons.map(String) : [];
            const off = chosen.filter((boon) => on[boon] === false).map(choiceLabel);
            const isLoopOff =
              Array.isArray(tool_servers) && tool_servers.length > 0 && settings.data?.tool_loop_enabled === false;
            const names = [...off, ...(isLoopOff ? [text("toolLoop")] : [])];
            return names.length === 0 ? null : (
              <Notice tone="warn">{text("boonOff", { names: names.join(", ") })}</Notice>
            );
          }}
        />
      </Panel>
    </Grid>
  );
}
