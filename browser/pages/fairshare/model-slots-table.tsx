import { useMemo } from "react";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatShare } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { type ModelSlots, modelSlots } from "./model-slots.ts";

const text = texts("fairshare", fairshareTexts);

const COLUMNS: readonly ListColumn<ModelSlots>[] = [
  {
    id: "model",
    head: text("model"),
    isWide: true,
    sortBy: ({ model }) => model,
    cell: ({ model }) => (
      <TargetLink target={pageTarget("/logs", { model })}>
        <bdi title={model}>{model}</bdi>
      </TargetLink>
    ),
  },
  {
    id: "inFlight",
    head: text("running"),
    align: "right",
    sortBy: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => formatCount(inFlight),
  },
  {
    id: "queued",
    head: text("queued"),
    align: "right",
    sortBy: ({ queued }) => queued,
    cell: ({ queued }) => formatCount(queued),
  },
  {
    id: "share",
    head: text("modelShare"),
    align: "right",
    sortBy: ({ share }) => share,
    cell: ({ share }) => formatShare(share),
  },
];

/** The slots that each model has in use, the most first until the address says otherwise. */
export function ModelSlotsTable({ live }: { readonly live: FairshareLive }) {
  const slots = useMemo(() => modelSlots(live), [live]);
  const { choice, ...view } = useListView({
    rows: slots,
    columns: COLUMNS,
    prefix: "models_",
    label: text("models"),
    file: "models",
  });
  return (
    <Panel title={text("models")} isFlush actions={choice}>
      <Table
        label={text("models")}
        {...view}
        rows={view.rows ?? slots}
        rowKey={({ model }) => model}
        empty={<Empty title={text("noModels")} />}
      />
    </Panel>
  );
}
