import { useQueryClient } from "@tanstack/react-query";
import { recipeBodySchema } from "../../../shared/schema/managed-model.ts";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { textOf } from "../../data/untyped.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Panel } from "../../ui/layout.tsx";
import { changeSpec, DEPLOYMENT_READS } from "./deployment-reads.ts";
import { SPEC_FIELDS } from "./spec-fields.ts";
import { SCRIPT_CONTROLS, SPEC_HEADINGS, useSpecHelp } from "./spec-form.tsx";

const text = texts("deployments", deploymentTexts);

/** What is kept running: resources, server and counts. What the form does not show stays as it is stored. */
export function SpecTab({ spec }: { readonly spec: Records["ManagedModel"] }) {
  const { model_id: id, model_name } = spec;
  const { zone } = useZone();
  const queries = useQueryClient();
  const { offered, below } = useSpecHelp();
  const readNow = async () =>
    await queries.fetchQuery({ ...read("/api/v1/models/{id}/managed", { params: { path: { id } } }), staleTime: 0 });
  const recipe = textOf(spec.launcher_spec["recipe"]);
  return (
    <Panel
      title={text("specOf")}
      note={`${text("specNote")} ${recipe === null ? "" : text("madeFrom", { recipe })}`.trim()}
    >
      <RecordForm
        what={text("specOf")}
        name={model_name}
        specs={SPEC_FIELDS}
        schema={recipeBodySchema}
        record={spec}
        zone={zone}
        sends="changed"
        send={async (body, header) => await changeSpec(id, body, header)}
        readNow={readNow}
        touches={DEPLOYMENT_READS}
        headings={SPEC_HEADINGS}
        controls={SCRIPT_CONTROLS}
        {...(offered === undefined ? {} : { offered })}
        note={below}
      />
    </Panel>
  );
}
