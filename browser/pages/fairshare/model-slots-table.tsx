import type { FairshareLive } from "../../../shared/schema/load.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { type ModelSlots, modelSlots } from "./model-slots.ts";

const text = texts("fairshare", fairshareTexts);

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
