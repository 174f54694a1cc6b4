import { lazy, Suspense, useState } from "react";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { MODEL_READS } from "./model-reads.ts";
import type { ModelTabProps } from "./model-tab.ts";
import { updateModel } from "./update-model.ts";

const text = texts("models", modelsTexts);
const DeleteModel = lazy(async () => ({ default: (await import("./delete-model.tsx")).DeleteModel }));

/** Switches a model off and on, with undo, and deletes it. */
export function ModelActions({ model, onMaintenance }: ModelTabProps & { readonly onMaintenance: () => void }) {
  const { id, model_name: name, enabled } = model;
  const [isDeleting, setDeleting] = useState(false);
  const doneText = (isOn: boolean): string => text(isOn ? "enabledDone" : "disabledDone", { name });
  const switching = useAnnouncedWrite<boolean>({
    send: async (isOn) => await updateModel(id, { enabled: isOn }),
    touches: MODEL_READS,
    done: doneText,
    failed: () => commonText("notChanged", { name }),
    inverse: (isOn) => ({ variables: !isOn, done: doneText(!isOn) }),
  });
  return (
    <>
      <Button writes isBusy={switching.isBusy} onClick={() => switching.run(!enabled)}>
        {text(enabled ? "disable" : "enable")}
      </Button>
      <Button writes onClick={onMaintenance}>
        {text("maintenance")}
      </Button>
      <Button writes tone="danger" onClick={() => setDeleting(true)}>
        {commonText("delete")}
      </Button>
      <Suspense fallback={null}>
        {isDeleting && <DeleteModel model={model} onClose={() => setDeleting(false)} />}
      </Suspense>
    </>
  );
}
