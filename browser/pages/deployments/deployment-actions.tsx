import { lazy, Suspense, useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { ifMatch } from "../../data/untyped.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { changeSpec, DEPLOYMENT_READS, putSpec, specBody } from "./deployment-reads.ts";
import { isActive, SPEC_TONES, specState } from "./spec-state.ts";
import { useRestart } from "./use-restart.ts";

const text = texts("deployments", deploymentTexts);
const ScaleDialog = lazy(async () => ({ default: (await import("./scale-dialog.tsx")).ScaleDialog }));

interface DeploymentActionsProps {
  readonly spec: Records["ManagedModel"];
  readonly replicas: readonly Records["ModelReplica"][];
}

/** The state of a managed model, and everything that can be done with it as a whole. */
export function DeploymentActions({ spec, replicas }: DeploymentActionsProps) {
  const { model_id: id, model_name: name, enabled } = spec;
  const [asked, setAsked] = useState<"scale" | "restart" | "remove" | null>(null);
  const close = (): void => setAsked(null);
  const state = specState(spec);
  const active = replicas.filter(isActive);
  const switchedText = (isOn: boolean): string => text(isOn ? "enabled" : "disabled", { name });
  const switching = useAnnouncedWrite<boolean>({
    send: async (isOn) => await changeSpec(id, { enabled: isOn }),
    touches: DEPLOYMENT_READS,
    done: switchedText,
    failed: () => commonText("notChanged", { name }),
    inverse: (isOn) => ({ variables: !isOn, done: switchedText(!isOn) }),
  });
  const scaling = useUndoableWrite<number>({
    send: async (target_replicas) => await changeSpec(id, { target_replicas }),
    touches: DEPLOYMENT_READS,
    describe: (from, to) => text("scaled", { name, from, to }),
  });
  // null removes; a spec puts it back
  const removing = useAnnouncedWrite<FieldValues | null>({
    send: async (body) =>
      body === null
        ? await api.DELETE("/api/v1/models/{id}/managed", { params: { path: { id }, header: ifMatch(spec) } })
        : await putSpec(id, body),
    touches: DEPLOYMENT_READS,
    done: () => text("removed", { name }),
    failed: () => commonText("notChanged", { name }),
    inverse: () => ({ variables: specBody(spec), done: text("putBack", { name }) }),
    onDone: close,
  });
  const restart = useRestart(name, close);
  return (
    <>
      <Badge tone={SPEC_TONES[state]}>{text(`state_${state}`)}</Badge>
      <Button writes onClick={() => setAsked("scale")}>
        {text("scale")}
      </Button>
      <Button writes isBusy={switching.isBusy} onClick={() => switching.run(!enabled)}>
        {text(enabled ? "disable" : "enable")}
      </Button>
      <Button writes disabled={active.length === 0} onClick={() => setAsked("restart")}>
        {text("restartAll")}
      </Button>
      <Button writes tone="danger" onClick={() => setAsked("remove")}>
        {text("remove")}
      </Button>
      <Suspense fallback={null}>
        {asked === "scale" && <ScaleDialog spec={spec} write={scaling} onClose={close} />}
      </Suspense>
      <Confirm
        isOpen={asked === "restart"}
        onCancel={close}
        onConfirm={() => restart.run(active.map((replica) => replica.id))}
        title={text("restartAllTitle", { name })}
        confirmLabel={text("restartAll")}
        isBusy={restart.isBusy}
      >
        {text("restartAllText", { count: active.length })}
      </Confirm>
      <Confirm
        isOpen={asked === "remove"}
        onCancel={close}
        onConfirm={() => removing.run(null)}
        title={text("removeTitle", { name })}
        confirmLabel={text("remove")}
        isBusy={removing.isBusy}
      >
        {text("removeText")}
      </Confirm>
    </>
  );
}
