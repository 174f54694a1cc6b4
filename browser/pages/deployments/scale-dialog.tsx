import "../../forms/record/no-code-from-texts.ts";
import { type FormEvent, useState } from "react";
import { recipeBodySchema } from "../../../shared/schema/managed-model.ts";
import type { Records } from "../../data/api.ts";
import { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Row, Stack } from "../../ui/layout.tsx";
import { DEPLOYMENT_READS, putSpec, specBody } from "./deployment-reads.ts";

const text = texts("deployments", deploymentTexts);
const schema = recipeBodySchema.pick({ target_replicas: true });

interface ScaleDialogProps {
  readonly spec: Records["ManagedModel"];
  readonly onClose: () => void;
}

/** How many replicas are kept running, with what another number would do. */
export function ScaleDialog({ spec, onClose }: ScaleDialogProps) {
  const { model_id, model_name: name, target_replicas: current } = spec;
  const [typed, setTyped] = useState(String(current));
  const [refused, setRefused] = useState<string>();
  const write = useUndoableWrite<number>({
    send: async (target_replicas) => await putSpec(model_id, { ...specBody(spec), target_replicas }),
    touches: DEPLOYMENT_READS,
    describe: (from, to) => text("scaled", { name, from, to }),
  });
  const judged = schema.safeParse({ target_replicas: /^\d{1,9}$/.test(typed.trim()) ? Number(typed) : typed });
  const target = judged.data?.target_replicas;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (target === undefined) setRefused(judged.error?.issues[0]?.message);
    else write.change(current, target, onClose);
  };
  return (
    <Dialog isOpen onClose={onClose} title={text("scaleTitle", { name })} closeLabel={commonText("close")}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextField
            label={text("replicas")}
            error={refused ?? write.error?.message}
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setRefused(undefined);
            }}
          />
          {target !== undefined && target > current && <p>{text("scaleMore", { count: target - current })}</p>}
          {target !== undefined && target < current && <p>{text("scaleLess", { count: current - target })}</p>}
          {target === 0 && current > 0 && <p>{text("scaleNone")}</p>}
          <Row isEnd>
            <Button onClick={onClose}>{commonText("cancel")}</Button>
            <Button type="submit" tone="primary" disabled={target === current} isBusy={write.isBusy}>
              {text("scale")}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  );
}
