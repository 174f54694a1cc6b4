/** Sets several weights one after the other, and takes them back. */
import { api } from "../../data/api.ts";
import { ApiError } from "../../data/api-error.ts";
import { useWrite } from "../../data/writes.ts";
import { commonText } from "../../messages/common.ts";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount } from "../../ui/format.ts";
import { toast } from "../../ui/toast.ts";
import { type WeightChange, weightKey } from "./weight-edits.ts";

const text = texts("fairshare", fairshareTexts);

/** What became of changes: those that were not made, with the reason, by `weightKey`. */
type Refusals = ReadonlyMap<string, string>;

/** `setWeights` resolves when every change was tried; it says in a toast what was set, with a way back. */
export function useWeightWrites() {
  const write = useWrite<unknown, WeightChange>({
    send: async ({ kind, id, newWeight: weight }) =>
      kind === "group"
        ? await api.PATCH("/api/v1/fairshare/groups/{name}/weight", {
            params: { path: { name: id } },
            body: { weight },
          })
        : await api.PATCH("/api/v1/tenants/{id}/weight", { params: { path: { id } }, body: { weight } }),
    touches: ["/api/v1/fairshare/live", "/api/v1/fairshare/groups", "/api/v1/tenants/{id}"],
  });

  async function setWeights(changes: readonly WeightChange[], isUndo = false): Promise<Refusals> {
    const done: WeightChange[] = [];
    const refusals = new Map<string, string>();
    let isPending = false;
    for (const change of changes)
      try {
        const written = await write.mutateAsync(change);
        isPending ||= written.isPending;
        done.push(change);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refusals.set(weightKey(change), error.said);
      }
    if (done.length > 0) {
      const said = done.map(saidOf);
      toast({
        title: said.length === 1 ? (said[0] ?? "") : text("weightsSet", { count: said.length }),
        detail: [...(said.length === 1 ? [] : said), ...(isPending ? [commonText("pending")] : [])].join(" · "),
        tone: isPending ? "warn" : "good",
        action: isUndo
          ? undefined
          : { label: commonText("undo"), onPress: () => void setWeights(done.map(inverse), true) },
      });
    }
    for (const [key, reason] of isUndo ? refusals : [])
      toast({ title: commonText("undoFailed", { what: nameOf(changes, key) }), detail: reason, tone: "bad" });
    return refusals;
  }

  return { setWeights, isBusy: write.isPending };
}

function saidOf({ name, weight, newWeight }: WeightChange): string {
  return text("weightSet", { name, from: formatCount(weight), to: formatCount(newWeight) });
}

function inverse(change: WeightChange): WeightChange {
  return { ...change, weight: change.newWeight, base: change.newWeight, newWeight: change.weight };
}

function nameOf(changes: readonly WeightChange[], key: string): string {
  return changes.find((change) => weightKey(change) === key)?.name ?? "";
}
