/** All of a model but its health checks in one form, which is saved at once and sends only the fields that were changed. */
import "../../forms/record/no-code-from-texts.ts";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { patchModelSchema } from "../../../shared/schema/model.ts";
import { read } from "../../data/reads.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import type { FieldSpec } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Panel } from "../../ui/layout.tsx";
import { BoonNotice } from "./boon-notice.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { MODEL_SECTIONS } from "./model-sections.tsx";
import type { ModelTabProps } from "./model-tab.ts";
import { SavedConnectionTest } from "./saved-connection-test.tsx";
import { freshModel, updateModel } from "./update-model.ts";

const text = texts("models", modelsTexts);

const SPECS: readonly FieldSpec[] = Object.values(MODEL_SECTIONS).flat();
const HEADINGS = Object.fromEntries(
  Object.entries(MODEL_SECTIONS).map(([section, [first]]) => [
    first?.name ?? "",
    text(section as keyof typeof MODEL_SECTIONS),
  ]),
);

export function EditTab({ model }: ModelTabProps) {
  const { id, model_name: name } = model;
  const { zone } = useZone();
  const queries = useQueryClient();
  const servers = useQuery(read("/api/v1/mcp-servers", { params: { query: { limit: "1000" } } }));
  const offered = [...new Set([...(servers.data ?? []).map((server) => server.name), ...model.tool_servers])];
  const toolServers: FieldSpec = { name: "tool_servers", kind: "choices", isNullable: false, choices: offered };
  return (
    <Panel title={text("edit")} note={text("editNote")}>
      <RecordForm
        what={text("settings")}
        name={name}
        specs={offered.length === 0 ? SPECS : SPECS.map((spec) => (spec.name === "tool_servers" ? toolServers : spec))}
        schema={patchModelSchema}
        record={model}
        zone={zone}
        sends="changed"
        headings={HEADINGS}
        note={(values: FieldValues) => (
          <>
            <BoonNotice boons={values["boons"]} servers={values["tool_servers"]} />
            <SavedConnectionTest values={values} model={model} />
          </>
        )}
        send={async (body, header) => await updateModel(id, body, header)}
        readNow={async () => await freshModel(queries, id)}
        touches={MODEL_READS}
      />
    </Panel>
  );
}
