import { History } from "../../forms/history/history.tsx";
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Stack } from "../../ui/layout.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("history", historyTexts);

/** What was changed of the model, and what happened to its replicas where the gateway runs it, or has run it. */
export function ModelHistoryTab({ model: { id } }: ModelTabProps) {
  const { zone } = useZone();
  return (
    <Stack>
      <History of={{ entity_type: "model", entity_id: id }} zone={zone} />
      <History of={{ replicas_of: id }} zone={zone} title={text("replicas")} isOptional />
    </Stack>
  );
}
