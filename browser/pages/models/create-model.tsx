import { useQueryClient } from "@tanstack/react-query";
import * as z from "zod";
import { MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { createModelSchema } from "../../../shared/schema/model.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { type FieldSpec, fieldSpecs } from "../../forms/record/field-specs.ts";
import { fieldLabel } from "../../forms/record/field-words.ts";
import { announce, complain } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { ConnectionTest, hasWarnings, useConnectionTest } from "./connection-test.tsx";
import { firstEndpoints } from "./endpoint-order.ts";
import { MODEL_READS } from "./model-reads.ts";
import { SecretField } from "./secret-field.tsx";

const text = texts("models", modelsTexts);
/** Addresses of the model beside its base URL. */
const ENDPOINTS_SPEC: FieldSpec = {
  name: "endpoints",
  kind: "lines",
  isNullable: true,
  choices: [],
  label: text("moreEndpoints"),
  hint: text("moreEndpointsHint"),
};
/** What is left empty is left out, so that it gets its default. */
const SPECS = fieldSpecs(
  [
    "model_name",
    "model_type",
    "api_base",
    "upstream_model",
    "api_key",
    "input_cost_per_token",
    "output_cost_per_token",
    "api_dialect",
    "auth_scheme",
    "description",
  ],
  MODEL_FIELDS,
)
  .map((spec) => (spec.name === "upstream_model" || spec.kind === "number" ? { ...spec, isNullable: true } : spec))
  .flatMap((spec) => (spec.name === "api_base" ? [spec, ENDPOINTS_SPEC] : [spec]));
const SCHEMA = z.preprocess(
  withoutNulls,
  createModelSchema.safeExtend({ endpoints: z.array(createModelSchema.shape.api_base.unwrap()).optional() }),
);

/** A new model. Its connection is tested before it is made; what was found wrong is shown first, and hinders nobody. */
export function CreateModel({
  onCreated,
  onClose,
}: {
  readonly onCreated: (id: string) => void;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const test = useConnectionTest();
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("createTitle")}>
      <CreateForm
        specs={SPECS}
        schema={SCHEMA}
        initial={{
          model_type: "chat",
          api_dialect: "openai",
          auth_scheme: "bearer",
        }}
        zone="UTC"
        headings={{ input_cost_per_token: text("createMore") }}
        foldFrom="input_cost_per_token"
        submitLabel={(values) => text(hasWarnings(test.answersTo(values)) ? "createAnyway" : "create")}
        controls={{
          upstream_model: ({ typed, onType, error }) => (
            <TextField
              label={fieldLabel("upstream_model")}
              hint={text("upstreamHint")}
              error={error}
              dir="auto"
              autoComplete="off"
              value={String(typed)}
              onChange={({ target }) => onType(target.value)}
            />
          ),
          api_key: ({ typed, onType, error }) => (
            <SecretField label={text("key")} error={error} value={String(typed)} onChange={onType} />
          ),
        }}
        note={(values) => <ConnectionTest values={values} test={test} />}
        onSubmit={async (given, idempotencyKey) => {
          if (test.answersTo(given) === null && hasWarnings(await test.ask(given))) return false;
          const { endpoints = [], ...body } = given;
          const made = answerValue(
            await api.POST("/api/v1/models", {
              params: { header: { "idempotency-key": idempotencyKey } },
              body: body as Records["CreateModel"],
            }),
          );
          for (const endpoint of firstEndpoints(made.api_base, endpoints)) {
            try {
              answerValue(
                await api.POST("/api/v1/models/{id}/endpoints", { params: { path: { id: made.id } }, body: endpoint }),
              );
            } catch (error) {
              complain(text("endpointNotAdded", { name: endpoint.name }), error);
            }
          }
          announce(commonText("created", { name: made.model_name }), { isPending: false, value: made });
          for (const path of MODEL_READS) void queries.invalidateQueries({ queryKey: [path] });
          onCreated(made.id);
          return true;
        }}
      />
    </Dialog>
  );
}

function withoutNulls(body: unknown): unknown {
  return typeof body === "object" && body !== null
    ? Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
    : body;
}
