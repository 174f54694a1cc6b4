import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { putManagedModelSchema } from "../../../shared/schema/managed-model.ts";
import { answerValue, type Records } from "../../data/api.ts";
import { ApiError } from "../../data/api-error.ts";
import { fieldsOf } from "../../data/untyped.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Panel } from "../../ui/layout.tsx";
import { toast } from "../../ui/toast.ts";
import { DEPLOYMENT_READS, putSpec } from "./deployment-reads.ts";
import { SPEC_FIELDS } from "./spec-fields.ts";
import { SCRIPT_CONTROLS, SPEC_HEADINGS, useSpecHelp } from "./spec-form.tsx";

const text = texts("deployments", deploymentTexts);

/** What the schema fills in, with blanks for what only a person knows. */
const {
  partition: _partition,
  launch_command: _command,
  serving_port: _port,
  ...DEFAULTS
} = putManagedModelSchema.parse({
  partition: "unknown",
  launch_command: "unknown",
  serving_port: 1,
});

interface NewSpecProps {
  readonly modelId: string | undefined;
  /** What fills the form; null: nothing does. */
  readonly recipe: Records["Recipe"] | null;
}

/** The spec of a model that has none, and nothing typed is lost when it cannot be stored. */
export function NewSpec({ modelId, recipe }: NewSpecProps) {
  const { zone } = useZone();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { offered, below } = useSpecHelp();
  return (
    <Panel title={text("specOf")}>
      <CreateForm
        specs={SPEC_FIELDS}
        schema={putManagedModelSchema}
        initial={{ ...DEFAULTS, ...recipe?.body }}
        zone={zone}
        submitLabel={commonText("create")}
        headings={SPEC_HEADINGS}
        foldFrom="script_body"
        controls={SCRIPT_CONTROLS}
        {...(offered === undefined ? {} : { offered })}
        note={below}
        onSubmit={async (body) => {
          if (modelId === undefined) throw new ApiError(400, "model_id", text("chooseModel"));
          const remembered = recipe === null ? {} : { ...fieldsOf(recipe.body["launcher_spec"]), recipe: recipe.name };
          const answered = await putSpec(modelId, { ...body, launcher_spec: remembered });
          if (answered.response.status === 412) throw new ApiError(409, "conflict", text("isManaged"));
          const made = answerValue(answered);
          const { model_name: name } = made as Records["ManagedModel"];
          toast({ title: text("created", { name }) });
          for (const path of DEPLOYMENT_READS) void queries.invalidateQueries({ queryKey: [path] });
          void navigate({ to: "/deployments/$modelId", params: { modelId } });
        }}
      />
    </Panel>
  );
}
