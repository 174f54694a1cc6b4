import { type FormEvent, useState } from "react";
import { recipeBodySchema } from "../../../shared/schema/managed-model.ts";
import type { Records } from "../../data/api.ts";
import { useMeanwhile } from "../../forms/record/use-meanwhile.ts";
import type { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Row, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { specNow } from "./deployment-reads.ts";

const text = texts("deployments", deploymentTexts);
const fieldText = texts("fields", fieldTexts);
const schema = recipeBodySchema.pick({ target_replicas: true });

interface ScaleDialogProps {
  readonly spec: Records["ManagedModel"];
  /** Of the page, which takes it back when this window is closed. */
  readonly write: ReturnType<typeof useUndoableWrite<number>>;
  readonly onClose: () => void;
}

/** How many replicas are kept running, with what another number would do. */
export function ScaleDialog({ spec, write, onClose }: ScaleDialogProps) {
  const { model_id: id, model_name: name, target_replicas: current } = spec;
  const [typed, setTyped] = useState(String(current));
  const [refused, setRefused] = useState<string>();
  const meanwhile = useMeanwhile(async () => (await specNow(id)).target_replicas);
  const { moved } = meanwhile;
  const parsed = schema.safeParse({ target_replicas: /^\d{1,9}$/.test(typed.trim()) ? Number(typed) : typed });
  const target = parsed.data?.target_replicas;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (target === undefined) setRefused(parsed.error?.issues[0]?.message);
    else void meanwhile.check(current, (from) => write.change(from, target, onClose));
  };
  return (
    <Dialog isOpen onClose={onClose} title={text("scaleTitle", { name })}>
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
              meanwhile.begin(current);
            }}
          />
          {target !== undefined && target > current && <p>{text("scaleMore", { count: target - current })}</p>}
          {target !== undefined && target < current && <p>{text("scaleLess", { count: current - target })}</p>}
          {moved !== null && (
            <Notice tone="warn">{fieldText("meanwhile", { before: moved.before, now: moved.now })}</Notice>
          )}
          {target === 0 && current > 0 && <p>{text("scaleNone")}</p>}
          <Row isEnd>
            <Button onClick={onClose}>{commonText("cancel")}</Button>
            <Button
              type="submit"
              tone="primary"
              disabled={target === current}
              isBusy={meanwhile.isReading || write.isBusy}
            >
              {text("scale")}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  );
}
