/** One setting as a form in a panel: what it does, where its values come from, and since when they hold. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import type * as z from "zod";
import { api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import type { IfMatch } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { RecordForm, type Revision } from "../../forms/record/record-form.tsx";
import type { Answered } from "../../forms/record/use-announced-write.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Panel } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";

const text = texts("settings", settingsTexts);
const EVERY_MS = 30_000;
const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));

/** By the part of its address: the name of its row. */
const ROWS = {
  alerts: "alerts",
  "auto-router": "auto_router",
  boons: "boons",
  energy: "energy",
  jobsched: "jobsched",
  assistant: "assistant",
  "usage-retention": "usage_retention",
} as const;
type SettingName = keyof typeof ROWS;

const pathOf = <N extends SettingName>(name: N) => `/api/v1/settings/${name}` as const;

/** Where each setting has its values from; no panel is drawn before it is there. */
export const sourcesRead = read("/api/v1/settings", {}, { everyMs: EVERY_MS });

/** The setting as it is, read again now and then. */
export function useSetting<N extends SettingName>(name: N) {
  return useQuery(read(pathOf(name), undefined, { everyMs: EVERY_MS }));
}

/** Saves some fields; what the body omits keeps its value. */
export async function saveSetting(name: SettingName, body: FieldValues, header: IfMatch = {}): Answered {
  const put = api.PUT as (path: string, init: { readonly params: object; readonly body: FieldValues }) => Answered;
  return await put(pathOf(name), { params: { header }, body });
}

/** The reads that show a setting. */
export const readsOf = (name: SettingName) => [pathOf(name), "/api/v1/settings", "/api/v1/audit"] as const;

interface SettingPanelProps
  extends Pick<Parameters<typeof RecordForm>[0], "specs" | "schema" | "offered" | "controls" | "note" | "undoOf"> {
  readonly name: SettingName;
  readonly title: string;
  /** What it does, and from when on a change counts. */
  readonly effect: string;
  /** The fields of the form, from the answer of the setting. */
  readonly fieldsOf?: (setting: FieldValues) => FieldValues;
  /** The body of the write, from that of the form. */
  readonly bodyOf?: (body: FieldValues) => FieldValues;
  readonly actions?: ReactNode;
  /** False: the tab has another form of the setting, and shows below both what was changed. */
  readonly hasHistory?: boolean;
}

export function SettingPanel({
  name,
  title,
  effect,
  fieldsOf,
  bodyOf,
  actions,
  hasHistory = true,
  schema,
  ...form
}: SettingPanelProps) {
  const setting = useSetting(name);
  const sources = useQuery(sourcesRead);
  const queries = useQueryClient();
  const { zone } = useZone();
  const fields = (answer: Revision): Revision => ({ ...(fieldsOf?.(answer) ?? answer), rev: answer.rev });
  const listed = sources.data?.find((one) => one.name === ROWS[name]);
  return (
    <Loaded state={setting}>
      {(answer) =>
        // Drawn when all of it is there: what comes later would move what is below.
        sources.isPending ? null : (
          <>
            <Panel
              title={
                listed === undefined || listed.source === "saved" ? (
                  title
                ) : (
                  <>
                    {title} <Badge>{text(`source_${listed.source}`)}</Badge>
                  </>
                )
              }
              note={
                <>
                  {effect} {listed?.source === "saved" && <Saved {...listed} />}
                </>
              }
              actions={actions}
            >
              <RecordForm
                {...form}
                what={title}
                name={text("gateway")}
                schema={keptIsNoValue(schema)}
                record={fields(answer)}
                zone={zone}
                sends="changed"
                send={async (body, header) => await saveSetting(name, bodyOf?.(body) ?? body, header)}
                readNow={async () => fields(await queries.fetchQuery({ ...read(pathOf(name)), staleTime: 0 }))}
                recordIn={(written) => fields(written as Revision)}
                touches={readsOf(name)}
              />
            </Panel>
            {hasHistory && <SettingHistory name={name} />}
          </>
        )
      }
    </Loaded>
  );
}

/** What was changed of the setting; nothing while nothing was. */
export function SettingHistory({ name }: { readonly name: SettingName }) {
  const { zone } = useZone();
  return (
    <Suspense fallback={null}>
      <History of={{ entity_type: "settings", entity_id: ROWS[name] }} zone={zone} isOptional />
    </Suspense>
  );
}

/** Refuses what the API would take to mean "as before": a person who types it means something else. */
function keptIsNoValue(schema: z.ZodType): z.ZodType {
  return schema.superRefine((body, context) => {
    for (const [field, value] of Object.entries(body as FieldValues))
      if (value === undefined) context.addIssue({ code: "custom", path: [field], message: text("keeps") });
  });
}

function Saved({ saved_at, saved_by }: Records["ListedSetting"]) {
  return (
    <>
      {text(saved_by === null ? "source_unknown" : "source_saved", { who: saved_by ?? "" })}
      {saved_at !== null && (
        <>
          , <Age at={saved_at} />
        </>
      )}
      .
    </>
  );
}
