/** Which address really gets a model's requests: now, and after a change of its endpoints. */
import { api, type Records } from "../../data/api.ts";
import { textOf } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { formatShare } from "../../ui/format.ts";
import { Facts, Row } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { MODEL_READS } from "./model-reads.ts";
import { type SharedEndpoint, trafficShares } from "./traffic-shares.ts";

const text = texts("models", modelsTexts);
/** The id of an endpoint that is not stored yet. */
const NEW_ID = "";
const FIRST_BEFORE = 10;
const USUAL_PRIORITY = 100;

interface TrafficProps {
  readonly model: Records["Model"];
  readonly endpoints: readonly Records["ModelEndpoint"][];
}

/** True for a model whose own address is none of its endpoints, so that endpoints take its requests away. */
function isBaseApart({ model, endpoints }: TrafficProps): boolean {
  return model.api_base !== "" && !endpoints.some(({ api_base }) => api_base === model.api_base);
}

/** Above the endpoints: that the model's own address gets nothing, and how it keeps serving. */
export function TrafficNotice({ model, endpoints }: TrafficProps) {
  if (endpoints.length === 0 || !isBaseApart({ model, endpoints })) return null;
  const { own } = trafficShares(model, endpoints);
  return (
    <Notice tone={own === 0 ? "warn" : "neutral"}>
      <Row>
        {text("baseShare", { address: model.api_base, share: formatShare(own) })}
        <AddBase model={model} endpoints={endpoints} />
      </Row>
    </Notice>
  );
}

/** Makes the model's own address the endpoint that is tried first. */
export function AddBase({ model, endpoints }: TrafficProps) {
  const write = useAnnouncedWrite<null>({
    send: async () =>
      await api.POST("/api/v1/models/{id}/endpoints", {
        params: { path: { id: model.id } },
        body: {
          name: "base-url",
          api_base: model.api_base,
          priority: Math.max(
            0,
            endpoints.reduce((least, { priority }) => Math.min(least, priority), USUAL_PRIORITY) - FIRST_BEFORE,
          ),
        },
      }),
    touches: MODEL_READS,
    done: () => text("endpointAdded", { name: "base-url" }),
    failed: () => text("endpointNotAdded", { name: model.api_base }),
  });
  return (
    <Button writes isBusy={write.isBusy} onClick={() => write.run(null)}>
      {text("baseAdd")}
    </Button>
  );
}

/** What part of the requests each address gets now, and with the typed values of an endpoint (null: a new one). */
export function TrafficPreview({
  model,
  endpoints,
  endpoint,
  values,
}: TrafficProps & { readonly endpoint: Records["ModelEndpoint"] | null; readonly values: FieldValues }) {
  const typed = typedEndpoint(endpoint, values);
  const next = endpoint === null ? [...endpoints, typed] : endpoints.map((one) => (one.id === typed.id ? typed : one));
  const before = trafficShares(model, endpoints);
  const after = trafficShares(model, next);
  const line = (label: string, id: string | null) => {
    const [from, to] = [before, after].map((shares) => (id === null ? shares.own : (shares.endpoints.get(id) ?? 0)));
    return [
      <bdi key={label}>{label}</bdi>,
      text("shareChange", { from: formatShare(from), to: formatShare(to) }),
    ] as const;
  };
  const losesAll = before.own > 0 && after.own === 0 && isBaseApart({ model, endpoints });
  return (
    <>
      <h3>{text("traffic")}</h3>
      <Facts
        facts={[
          ...(model.api_base === "" ? [] : [line(text("address"), null)]),
          ...next.map(({ id, name }) => line(name === "" ? text("endpoint") : name, id)),
        ]}
      />
      {losesAll && (
        <Notice tone="warn">
          <Row>
            {text("baseLoses", { address: model.api_base })}
            <AddBase model={model} endpoints={endpoints} />
          </Row>
        </Notice>
      )}
    </>
  );
}

function typedEndpoint(endpoint: Records["ModelEndpoint"] | null, values: FieldValues): SharedEndpoint {
  const number = (field: "priority" | "weight"): number =>
    typeof values[field] === "number" ? values[field] : (endpoint?.[field] ?? USUAL_PRIORITY);
  return {
    id: endpoint?.id ?? NEW_ID,
    name: textOf(values["name"]) ?? "",
    priority: number("priority"),
    weight: number("weight"),
    enabled: values["enabled"] === true,
    // another address is unknown until it is checked, and an unknown one is used
    health_status: values["api_base"] === endpoint?.api_base ? (endpoint?.health_status ?? "unknown") : "unknown",
  };
}
