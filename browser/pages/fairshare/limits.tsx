/** The limits that hold queues up, each with the form that changes it (docs/rules/fairshare.md#why-a-request-waits). */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { groupWeightSchema } from "../../../shared/schema/fairshare.ts";
import type { FairshareLive, WaitingQueue } from "../../../shared/schema/load.ts";
import { setCapacitySchema } from "../../../shared/schema/load.ts";
import { modelCapacitySchema } from "../../../shared/schema/model.ts";
import { tenantQuotaSchema, tenantWeightSchema } from "../../../shared/schema/tenant.ts";
import { answerValue, api } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { whatIf } from "../../explain/what-if.ts";
import { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Loaded, Notice } from "../../ui/states.tsx";
import { LimitForm, limitText } from "./limit-form.tsx";

const text = texts("fairshare", fairshareTexts);

const tenantCapSchema = tenantQuotaSchema.pick({ max_in_flight: true });

/** The form for the limit that holds a queue up; `cell` null: the queues are those of all cells. */
export function LimitOf({
  queue,
  live,
  cell,
}: {
  readonly queue: WaitingQueue;
  readonly live: FairshareLive;
  readonly cell: string | null;
}) {
  const { reason, tenant, tenant_id: tenantId, group, model } = queue;
  switch (reason) {
    case "tenant_cap":
      return <TenantCap tenantId={tenantId} />;
    case "model_cap":
      return <ModelCap model={model} />;
    case "cell_full":
    case "headroom":
      return cell === null && live.waiting_cells.length > 1 ? (
        <CellChoice cells={live.waiting_cells} />
      ) : (
        <CellSlots live={live} />
      );
    case "group_share":
      return <GroupWeight name={group} live={live} />;
    case "tenant_share":
      return <TenantWeight tenantId={tenantId} name={tenant} live={live} />;
    case "budget":
      return <Notice>{text("limitBudget")}</Notice>;
    default:
      return reason satisfies never;
  }
}

function CellChoice({ cells }: { readonly cells: readonly string[] }) {
  return (
    <Notice>
      {text("limitCell")}
      <ul>
        {cells.map((cell) => (
          <li key={cell}>
            <Link from="/fairshare" to="/fairshare" search={(before) => ({ ...before, cell })}>
              {cell}
            </Link>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** The number of slots of the cell that is shown. */
export function CellSlots({ live, onDone }: { readonly live: FairshareLive; readonly onDone?: () => void }) {
  const { cell, max_in_flight: slots } = live;
  const label = text("limitCapacity", { cell });
  const write = useUndoableWrite<number | null>({
    send: async (max_in_flight) =>
      await api.PUT("/api/v1/capacity", { params: { query: { cell } }, body: { max_in_flight } }),
    touches: ["/api/v1/fairshare/live", "/api/v1/stats"],
    describe: (from, to) => text("changed", { what: label, from: limitText(from), to: limitText(to) }),
  });
  return (
    <LimitForm
      label={label}
      hint={text("limitCapacityHint")}
      current={slots}
      readNow={async () => (await liveNow(cell)).max_in_flight}
      schema={capacitySchema}
      field="max_in_flight"
      write={write}
      onDone={onDone}
    />
  );
}

/** A number of slots; giving it back to the configured value is not offered here. */
const capacitySchema = setCapacitySchema.extend({ max_in_flight: setCapacitySchema.shape.max_in_flight.unwrap() });

function TenantCap({ tenantId: id }: { readonly tenantId: string }) {
  const path = { params: { path: { id } } };
  const queries = useQueryClient();
  const tenant = useQuery(read("/api/v1/tenants/{id}", path));
  const label = text("limitTenantCap");
  const write = useUndoableWrite<number | null>({
    send: async (max_in_flight) => await api.PATCH("/api/v1/tenants/{id}", { ...path, body: { max_in_flight } }),
    touches: ["/api/v1/tenants/{id}", "/api/v1/fairshare/live"],
    describe: (from, to) => text("changed", { what: label, from: limitText(from), to: limitText(to) }),
  });
  return (
    <Loaded state={tenant}>
      {({ max_in_flight }) => (
        <LimitForm
          label={label}
          hint={text("limitTenantCapHint")}
          current={max_in_flight}
          readNow={async () =>
            (await queries.fetchQuery({ ...read("/api/v1/tenants/{id}", path), staleTime: 0 })).max_in_flight
          }
          schema={tenantCapSchema}
          field="max_in_flight"
          write={write}
        />
      )}
    </Loaded>
  );
}

function ModelCap({ model: name }: { readonly model: string }) {
  const models = useQuery(read("/api/v1/models", { params: { query: { q: name, limit: "200" } } }));
  return (
    <Loaded state={models}>
      {(found) => {
        const model = found.find(({ model_name }) => model_name === name);
        if (model === undefined) return <Notice tone="warn">{text("modelGone")}</Notice>;
        return <RegisteredModelCap {...model} />;
      }}
    </Loaded>
  );
}

const CAP_HINTS = {
  static: "limitModelCapHint",
  tuned: "limitModelCapTuned",
  adaptive: "limitModelCapAdaptive",
} as const;

function RegisteredModelCap({
  id,
  max_in_flight: cap,
  capacity_mode: mode,
}: {
  readonly id: string;
  readonly max_in_flight: number | null;
  readonly capacity_mode: keyof typeof CAP_HINTS;
}) {
  const label = text("limitModelCap");
  const write = useUndoableWrite<number | null>({
    send: async (max_in_flight) =>
      await api.PUT("/api/v1/models/{id}/capacity", { params: { path: { id } }, body: { max_in_flight } }),
    touches: ["/api/v1/models", "/api/v1/fairshare/live"],
    describe: (from, to) => text("changed", { what: label, from: limitText(from), to: limitText(to) }),
  });
  return (
    <LimitForm
      label={label}
      hint={text(CAP_HINTS[mode])}
      current={cap}
      readNow={async () =>
        answerValue(await api.GET("/api/v1/models/{id}", { params: { path: { id } } })).max_in_flight
      }
      schema={modelCapacitySchema}
      field="max_in_flight"
      write={write}
    />
  );
}

function GroupWeight({ name, live }: { readonly name: string; readonly live: FairshareLive }) {
  const group = live.groups.find((one) => one.name === name);
  const label = text("limitGroupWeight", { name });
  const write = useUndoableWrite<number | null>({
    send: async (weight) =>
      await api.PATCH("/api/v1/fairshare/groups/{name}/weight", {
        params: { path: { name } },
        body: { weight: weight ?? 1 },
      }),
    touches: ["/api/v1/fairshare/groups", "/api/v1/fairshare/live"],
    describe: (from, to) => text("changed", { what: label, from: limitText(from), to: limitText(to) }),
  });
  if (group === undefined) return null;
  return (
    <LimitForm
      label={label}
      hint={text("limitWeightHint")}
      current={group.weight}
      readNow={async () => (await liveNow(live.cell)).groups.find((one) => one.name === name)?.weight ?? group.weight}
      schema={groupWeightSchema}
      field="weight"
      write={write}
      effectOf={(weight) => effectOf(live, name, { groupWeights: new Map([[name, weight]]), tenantWeights: new Map() })}
    />
  );
}

function TenantWeight({
  tenantId: id,
  name,
  live,
}: {
  readonly tenantId: string;
  readonly name: string;
  readonly live: FairshareLive;
}) {
  const tenant = live.tenants.find((one) => one.tenant_id === id);
  const label = text("limitTenantWeight", { name });
  const write = useUndoableWrite<number | null>({
    send: async (weight) =>
      await api.PATCH("/api/v1/tenants/{id}/weight", { params: { path: { id } }, body: { weight: weight ?? 1 } }),
    touches: ["/api/v1/tenants/{id}", "/api/v1/fairshare/live"],
    describe: (from, to) => text("changed", { what: label, from: limitText(from), to: limitText(to) }),
  });
  if (tenant === undefined) return null;
  return (
    <LimitForm
      label={label}
      hint={text("limitWeightHint")}
      current={tenant.weight}
      readNow={async () => answerValue(await api.GET("/api/v1/tenants/{id}", { params: { path: { id } } })).weight}
      schema={tenantWeightSchema}
      field="weight"
      write={write}
      effectOf={(weight) =>
        effectOf(live, name, { groupWeights: new Map(), tenantWeights: new Map([[id, weight]]) }, id)
      }
    />
  );
}

/** The live view of a cell at the moment. Throws ApiError. */
async function liveNow(cell: string): Promise<FairshareLive> {
  return answerValue(await api.GET("/api/v1/fairshare/live", { params: { query: { cell } } })) as FairshareLive;
}

/** What a weight would change for the group or tenant itself. */
function effectOf(
  live: FairshareLive,
  name: string,
  edits: Parameters<typeof whatIf>[2],
  tenantId?: string,
): string | undefined {
  const answer = whatIf(live, [], edits);
  if (answer.kind === "invalid") return undefined;
  const own =
    tenantId === undefined
      ? answer.groups.find((group) => group.name === name)
      : answer.tenants.find((tenant) => tenant.tenantId === tenantId);
  if (own === undefined) return undefined;
  return live.algorithm === "weighted"
    ? text("effectShare", {
        name,
        before: formatShare(own.before.weightShare),
        after: formatShare(own.after.weightShare),
      })
    : text("effect", { name, before: formatCount(own.before.slotCap), after: formatCount(own.after.slotCap) });
}
