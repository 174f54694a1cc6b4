import { useQueryClient } from "@tanstack/react-query";
import * as z from "zod";
import { ENDPOINT_FIELDS } from "../../../shared/fields/endpoint-fields.ts";
import { createModelEndpointSchema, updateModelEndpointSchema } from "../../../shared/schema/model-endpoint.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { fieldsOf, textOf } from "../../data/untyped.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { type FieldSpec, fieldSpecs } from "../../forms/record/field-specs.ts";
import { RecordForm } from "../../forms/record/record-form.tsx";
import { announce } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Stack } from "../../ui/layout.tsx";
import { ConnectionTest, useConnectionTest } from "./connection-test.tsx";
import { endpointsRead, MODEL_READS } from "./model-reads.ts";
import { SecretField } from "./secret-field.tsx";
import { TrafficPreview } from "./traffic.tsx";
import { UpstreamKey } from "./upstream-key.tsx";

const text = texts("models", modelsTexts);
const NAMES = ["name", "api_base", "auth_scheme", "weight", "priority", "enabled"] as const;
/** What is said of the model's own fields of these names is not so of an endpoint's. */
const HINTS: Readonly<Record<string, string>> = {
  api_base: text("endpointBaseHint"),
  weight: text("endpointWeightHint"),
};
const specsOf = (names: readonly (keyof typeof ENDPOINT_FIELDS)[]): readonly FieldSpec[] =>
  fieldSpecs(names, ENDPOINT_FIELDS).map((spec) => {
    const hint = HINTS[spec.name];
    const own = spec.name === "auth_scheme" ? { none: text("endpointSchemeNone") } : {};
    return { ...spec, ...own, ...(hint === undefined ? {} : { hint }) };
  });
const EDIT_SPECS = specsOf(NAMES);
/** A blank key is the model's. */
const CREATE_SPECS = specsOf(["name", "api_base", "api_key", ...NAMES.slice(2)]).map((spec) =>
  spec.name === "name" ? { ...spec, hint: text("endpointNameHint") } : spec,
);
const CREATE_SCHEMA = z.preprocess((body) => {
  const { name, api_base } = fieldsOf(body);
  return textOf(name)?.trim() === ""
    ? { ...fieldsOf(body), name: URL.parse(textOf(api_base) ?? "")?.host ?? "" }
    : body;
}, createModelEndpointSchema);

interface EndpointDialogProps {
  readonly model: Records["Model"];
  /** All of the model. */
  readonly endpoints: readonly Records["ModelEndpoint"][];
  /** Null: a new one. */
  readonly endpoint: Records["ModelEndpoint"] | null;
  readonly onClose: () => void;
}

/** A new endpoint, or one that is there. */
export function EndpointDialog({ model, endpoints, endpoint, onClose }: EndpointDialogProps) {
  const title = endpoint === null ? text("endpointAdd") : text("endpointTitle", { name: endpoint.name });
  return (
    <Dialog isOpen isKept={endpoint === null} onClose={onClose} title={<bdi>{title}</bdi>}>
      {endpoint === null ? (
        <CreateEndpoint model={model} endpoints={endpoints} onDone={onClose} />
      ) : (
        <EditEndpoint model={model} endpoints={endpoints} endpoint={endpoint} onDeleted={onClose} />
      )}
    </Dialog>
  );
}

/** What the test of an endpoint asks: what it does not say is the model's. */
function askedOf({ upstream_model, api_dialect, auth_scheme }: Records["Model"], values: FieldValues): FieldValues {
  return { ...values, upstream_model, api_dialect, auth_scheme: values["auth_scheme"] || auth_scheme };
}

function CreateEndpoint({
  model,
  endpoints,
  onDone,
}: Pick<EndpointDialogProps, "model" | "endpoints"> & { readonly onDone: () => void }) {
  const { id } = model;
  const queries = useQueryClient();
  const test = useConnectionTest();
  return (
    <CreateForm
      specs={CREATE_SPECS}
      schema={CREATE_SCHEMA}
      initial={{ weight: 100, priority: 100, enabled: true }}
      zone="UTC"
      submitLabel={text("endpointAdd")}
      controls={{
        api_key: ({ typed, onType, error }) => (
          <SecretField
            label={text("key")}
            hint={text("keyInherited")}
            error={error}
            value={String(typed)}
            onChange={onType}
          />
        ),
      }}
      note={(values) => (
        <>
          <TrafficPreview model={model} endpoints={endpoints} endpoint={null} values={values} />
          <ConnectionTest values={askedOf(model, values)} test={test} />
        </>
      )}
      onSubmit={async (body, idempotencyKey) => {
        const made = answerValue(
          await api.POST("/api/v1/models/{id}/endpoints", {
            params: { path: { id }, header: { "idempotency-key": idempotencyKey } },
            body: body as Records["CreateModelEndpoint"],
          }),
        );
        announce(text("endpointAdded", { name: made.name }), { isPending: false, value: made });
        for (const path of MODEL_READS) void queries.invalidateQueries({ queryKey: [path] });
        onDone();
      }}
    />
  );
}

function EditEndpoint({
  model,
  endpoints,
  endpoint,
  onDeleted,
}: Pick<EndpointDialogProps, "model" | "endpoints"> & {
  readonly endpoint: Records["ModelEndpoint"];
  readonly onDeleted: () => void;
}) {
  const { id } = model;
  const queries = useQueryClient();
  const test = useConnectionTest();
  const path = { params: { path: { id, endpoint_id: endpoint.id } } };
  const { name } = endpoint;
  return (
    <Stack>
      <RecordForm
        what={text("endpoint")}
        name={name}
        specs={EDIT_SPECS}
        schema={updateModelEndpointSchema}
        record={endpoint}
        zone="UTC"
        sends="changed"
        send={async (body, header) =>
          await api.PUT("/api/v1/models/{id}/endpoints/{endpoint_id}", {
            params: { ...path.params, header },
            body: body as Records["UpdateModelEndpoint"],
          })
        }
        readNow={async () => {
          const now = await queries.fetchQuery({ ...endpointsRead(id), staleTime: 0 });
          return now.find((one) => one.id === endpoint.id) ?? { rev: null };
        }}
        touches={MODEL_READS}
        note={(values) => (
          <>
            <TrafficPreview model={model} endpoints={endpoints} endpoint={endpoint} values={values} />
            <ConnectionTest values={askedOf(model, values)} test={test} />
          </>
        )}
      />
      <UpstreamKey owner={{ kind: "endpoint", endpoint }} />
      <div>
        <DeleteButton
          label={commonText("delete")}
          title={text("endpointDeleteTitle", { name })}
          send={async () => await api.DELETE("/api/v1/models/{id}/endpoints/{endpoint_id}", path)}
          touches={MODEL_READS}
          done={text("endpointDeleted", { name })}
          failed={text("endpointDeleteFailed", { name })}
          onDeleted={onDeleted}
        >
          {text("endpointDeleteText")}
        </DeleteButton>
      </div>
    </Stack>
  );
}
