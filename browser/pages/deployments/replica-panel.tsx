import { useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { modelTarget, pageTarget } from "../../explain/link-target.ts";
import { History } from "../../forms/history/history.tsx";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { Facts, Row, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { DEPLOYMENT_READS } from "./deployment-reads.ts";
import { portText } from "./port-text.ts";
import { isActive, REPLICA_TONES } from "./spec-state.ts";
import { useRestart } from "./use-restart.ts";

const text = texts("deployments", deploymentTexts);

type Replica = Records["ModelReplica"];

interface ReplicaPanelProps {
  readonly id: string;
  readonly modelId: string;
  /** Undefined: it is not in the list any more. */
  readonly replica: Replica | undefined;
  readonly onClose: () => void;
}

/** One replica: where it runs, what it says, and everything that happened to it, also after it is gone. */
export function ReplicaPanel({ id, modelId, replica, onClose }: ReplicaPanelProps) {
  const { zone } = useZone();
  const job = replica === undefined ? null : (replica.job_id ?? text("notSubmitted"));
  return (
    <Dialog isOpen onClose={onClose} place="side" title={job === null ? text("replica") : `${text("job")} ${job}`}>
      <Stack>
        {replica === undefined ? (
          <Notice>{text("replicaGone")}</Notice>
        ) : (
          <Details replica={replica} job={job ?? ""} modelId={modelId} onClose={onClose} />
        )}
        <History of={{ entity_type: "model_replica", entity_id: id }} zone={zone} />
      </Stack>
    </Dialog>
  );
}

interface DetailsProps extends Pick<ReplicaPanelProps, "modelId" | "onClose"> {
  readonly replica: Replica;
  /** The id of its job, or that it has none yet. */
  readonly job: string;
}

function Details({ replica, job, modelId, onClose }: DetailsProps) {
  const { id, model_name, state, state_since, nodes, endpoint, restart_count, probe_misses, last_message } = replica;
  const [isAsked, setAsked] = useState(false);
  const restart = useRestart(model_name, () => setAsked(false));
  const clearing = useAnnouncedWrite<null>({
    send: async () => await api.DELETE("/api/v1/replicas/{id}", { params: { path: { id } } }),
    touches: DEPLOYMENT_READS,
    done: () => text("forgotten", { job }),
    failed: () => text("clearFailed", { name: model_name }),
    onDone: onClose,
  });
  return (
    <>
      <Row>
        {isActive(replica) && (
          <Button writes onClick={() => setAsked(true)}>
            {text("restart")}
          </Button>
        )}
        {state === "lost" && (
          <Button writes isBusy={clearing.isBusy} onClick={() => clearing.run(null)}>
            {text("forget")}
          </Button>
        )}
        <TargetLink isButton target={pageTarget("/logs", { model: model_name })}>
          {text("requests")}
        </TargetLink>
        {replica.model_id !== null && (
          <TargetLink isButton target={modelTarget(modelId, "connection")}>
            {text("modelPage")}
          </TargetLink>
        )}
      </Row>
      <Facts
        facts={[
          [
            text("state"),
            <span key="state">
              <Badge tone={REPLICA_TONES[state]}>{text(`replica_${state}`)}</Badge> <Age at={state_since} />{" "}
              {replica.cancel_requested && <Badge tone="warn">{text("asked")}</Badge>}
            </span>,
          ],
          [text("node"), <bdi key="node">{formatText(nodes)}</bdi>],
          [text("port"), portText(replica)],
          [text("address"), <bdi key="address">{formatText(endpoint?.api_base)}</bdi>],
          [text("health"), formatText(endpoint?.health_status)],
          [text("age"), <Age key="age" at={replica.created_at} />],
          [text("restarts"), formatCount(restart_count)],
          [text("misses"), formatCount(probe_misses)],
          [text("message"), <bdi key="message">{formatText(last_message)}</bdi>],
        ]}
      />
      <Confirm
        isOpen={isAsked}
        onCancel={() => setAsked(false)}
        onConfirm={() => restart.run([id])}
        title={text("restartTitle", { job })}
        confirmLabel={text("restart")}
        isBusy={restart.isBusy}
      >
        {text("restartText")}
      </Confirm>
    </>
  );
}
