import type { FairshareLive } from "../../../shared/schema/load.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const text = texts("fairshare", fairshareTexts);

interface ModelSlots {
  readonly model: string;
  readonly inFlight: number;
  readonly queued: number;
  /** Of the slots of the cell. */
  readonly share: number;
}

const COLUMNS: readonly Column<ModelSlots>[] = [
  {
    id: "model",
    head: text("model"),
    isWide: true,
    cell: ({ model }) => (
      <TargetLink target={pageTarget("/logs", { model })}>
        <bdi title={model}>{model}</bdi>
      </TargetLink>
    ),
  },
  { id: "inFlight", head: text("running"), align: "right", cell: ({ inFlight }) => formatCount(inFlight) },
  { id: "queued", head: text("queued"), align: "right", cell: ({ queued }) => formatCount(queued) },
  { id: "share", head: text("modelShare"), align: "right", cell: ({ share }) => formatShare(share) },
];

/** The slots that each model has in use, the most first. */
export function ModelSlotsTable({ live }: { readonly live: FairshareLive }) {
  return (
    <Table
      label={text("models")}
      columns={COLUMNS}
      rows={modelSlots(live)}
      rowKey={({ model }) => model}
      empty={<Empty title={text("noModels")} />}
    />
  );
}

/** Models that somebody asks for now; by slots, then by who waits, then by name. */
export function modelSlots({ model_in_flight, model_queued, max_in_flight }: FairshareLive): readonly ModelSlots[] {
  const inFlight = new Map(Object.entries(model_in_flight));
  const queued = new Map(Object.entries(model_queued));
  return [...new Set([...inFlight.keys(), ...queued.keys()])]
    .map((model) => ({
      model,
      inFlight: inFlight.get(model) ?? 0,
      queued: queued.get(model) ?? 0,
      share: (inFlight.get(model) ?? 0) / max_in_flight,
    }))
    .filter((row) => row.inFlight > 0 || row.queued > 0)
    .sort((a, b) => b.inFlight - a.inFlight || b.queued - a.queued || (a.model < b.model ? -1 : 1));
}
