/** The models of the list with what is known of each now, filtered. Pure. */
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import type { Records } from "../../data/api.ts";
import { instantOf } from "../../time/instants.ts";
import type { modelsSearch } from "./models-search.ts";

type Model = Records["Model"];
type Search = { readonly [N in "type" | "health"]?: ReturnType<typeof modelsSearch>[N] | undefined };

/** A model; null: not known. */
export interface ModelRow {
  readonly model: Model;
  /** In the cell that was asked. */
  readonly running: number | null;
  readonly requests: number | null;
  readonly failed: number | null;
  readonly endpointsDown: number;
}

/** What was read besides the models; undefined: it is not there. */
interface Known {
  readonly live: Pick<FairshareLive, "model_in_flight"> | undefined;
  readonly used: readonly Pick<Records["UsageTotals"], "model" | "requests" | "failed_requests">[] | undefined;
  readonly attention: readonly Pick<AttentionItem, "kind" | "name">[] | undefined;
}

/** A model that nobody asks for has zeros where the read is there, and nothing known where it is not. */
export function modelRows(models: readonly Model[], { live, used, attention }: Known): readonly ModelRow[] {
  const running = live === undefined ? null : new Map(Object.entries(live.model_in_flight));
  const usedBy = used === undefined ? null : new Map(used.map((row) => [row.model ?? "", row]));
  const down = downOf(attention ?? [], new Set(models.map(({ model_name }) => model_name)));
  return models.map((model) => {
    const name = model.model_name;
    return {
      model,
      running: running === null ? null : (running.get(name) ?? 0),
      requests: usedBy === null ? null : (usedBy.get(name)?.requests ?? 0),
      failed: usedBy === null ? null : (usedBy.get(name)?.failed_requests ?? 0),
      endpointsDown: down.get(name) ?? 0,
    };
  });
}

/** How many endpoints of each model are down. An entry is called `model: endpoint`, and both names may have colons. */
function downOf(attention: NonNullable<Known["attention"]>, names: ReadonlySet<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, name } of attention) {
    if (kind !== "endpoint_down") continue;
    let at = name.lastIndexOf(": ");
    while (at > 0 && !names.has(name.slice(0, at))) at = name.lastIndexOf(": ", at - 1);
    if (at > 0) counts.set(name.slice(0, at), (counts.get(name.slice(0, at)) ?? 0) + 1);
  }
  return counts;
}

/** The rows of a kind and a health; what the search does not name is not filtered by. */
export function filteredRows(rows: readonly ModelRow[], { type, health }: Search, nowMs: number): readonly ModelRow[] {
  return rows.filter(
    ({ model }) =>
      (type === undefined || model.model_type === type) &&
      (health === undefined || shownHealth(model, nowMs) === health),
  );
}

/** What the checks found; a model that is off or in maintenance is not checked. */
export function shownHealth(
  { enabled, health_status, maintenance_until }: Pick<Model, "enabled" | "health_status" | "maintenance_until">,
  nowMs: number,
): string {
  if (!enabled) return "disabled";
  return (instantOf(maintenance_until) ?? 0) > nowMs ? "maintenance" : health_status;
}
